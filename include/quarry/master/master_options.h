// Options of the master other than its configuration and its services.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quarry/master/handover.h"
#include "quarry/master/listener.h"

namespace quarry::master {

/// How the master executes itself again on SIGUSR2 (and SIGHUP).
struct Reload {
  std::filesystem::path program;
  std::vector<std::string> arguments;  // argv, with the program's name first
  std::map<std::string, std::string> notes;
  bool on_hangup = true;  // otherwise SIGHUP stops
  /// Called when all services have been started. May be empty.
  std::function<void()> on_ready;
  // From the previous master's Handover:
  std::uint64_t generation = 1;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
};

/// The socket on which the master answers `quarry status`.
struct Control {
  Listener listener;   // without a socket, nothing is answered
  std::string config;  // the configuration file, or what is served without one
};

}  // namespace quarry::master
