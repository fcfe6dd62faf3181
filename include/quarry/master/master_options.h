// What the master is given beside its configuration and its services.
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

/// How the master becomes a new one, on SIGUSR2 (and SIGHUP).
struct Reload {
  std::filesystem::path program;       // to be executed
  std::vector<std::string> arguments;  // with the name of the program first
  std::map<std::string, std::string> notes;
  bool on_hangup = true;  // otherwise SIGHUP stops
  /// Called once all services have been started. May be empty.
  std::function<void()> on_ready;
  /// Of the master before this one.
  std::uint64_t generation = 1;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
};

/// How the master is asked how it is (`quarry status`).
struct Control {
  Listener listener;   // of no socket: nobody can ask
  std::string config;  // the file, or what is served without one
};

}  // namespace quarry::master
