// The master process starts the children of each service, replaces children that exit, and stops
// them. The master does not know what the children do: each service provides a function or a
// program to run.
//
// Signals: SIGTERM and SIGINT stop immediately. SIGQUIT stops gracefully: the services finish their
// requests within process_control_timeout. The services stop in the order of ServiceKind, beginning
// with the front. SIGUSR2 and SIGHUP reload: the same process executes the program again. The new
// program takes over the listening sockets and starts new children, while the old children finish
// their requests. If the master exits for any reason, its children exit too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/handover.h"
#include "quarry/master/listener.h"
#include "quarry/master/service.h"

namespace quarry::master {

/// The data with which the master executes itself again on SIGUSR2 or SIGHUP.
struct Reload {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // argv, with the program's name first
  std::map<std::string, std::string> notes;
  bool on_hangup = true;  // false: SIGHUP stops the master
  /// Called after all services have been started. Optional.
  std::function<void()> on_ready;
  // From the Handover of the previous master:
  std::uint64_t generation = 1;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
  ServiceCounters counters;
  /// Whether the services keep the configuration of the previous generation, because the
  /// configuration file has mistakes. Children that run a program then continue, because a new
  /// child would read that file.
  bool keeps_programs = false;
};

/// The socket on which the master answers `quarry status`.
struct Control {
  Listener listener;   // without a socket, queries are not answered
  std::string config;  // path of the configuration file, or of the served files
};

/// Starts SERVICES, and returns after all of them have ended. Returns an error if a service cannot
/// be started.
Result<void> run_master(GlobalConfig global, std::vector<Service> services, Reload reload = {},
                        Control control = {});

}  // namespace quarry::master
