// The master process starts the children of each service, replaces those that die, and stops them.
// It does not know what they do: each service provides a function or names a program.
//
// Signals: SIGTERM and SIGINT stop immediately. SIGQUIT stops gracefully: the front finishes its
// requests first, then the pools do, and so on in the order of ServiceKind, all within
// process_control_timeout. SIGUSR2 and SIGHUP reload: the same process executes the program again.
// The new program takes over the listening sockets and starts new children, while the old children
// finish their requests. Children never outlive the master, however it ends.
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

/// How the master executes itself again on SIGUSR2 (and SIGHUP).
struct Reload {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // argv, with the program's name first
  std::map<std::string, std::string> notes;
  bool on_hangup = true;  // false: SIGHUP stops the master
  /// Called when all services have been started. May be empty.
  std::function<void()> on_ready;
  // From the previous master's Handover:
  std::uint64_t generation = 1;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
};

/// The socket on which the master answers `quarry status`.
struct Control {
  Listener listener;   // without a socket, the master answers no queries
  std::string config;  // the configuration file, or what is served if there is no such file
};

/// Starts SERVICES and returns when all of them have ended. Returns an error if it cannot start.
base::Result<void> run_master(GlobalConfig global, std::vector<Service> services,
                              Reload reload = {}, Control control = {});

}  // namespace quarry::master
