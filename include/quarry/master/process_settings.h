// What a child process is given of its surroundings: limits, priority, folder, environment, and
// what becomes of what it prints. The configuration fills it in, every new child puts it in force
// (process_setup.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quarry::master {

/// Limits of setrlimit(2), RLIM_INFINITY included; nothing: as the master has them.
struct ResourceLimits {
  std::optional<std::uint64_t> files;  // rlimit_files
  std::optional<std::uint64_t> core;   // rlimit_core
};

struct ProcessSettings {
  ResourceLimits limits;
  std::optional<int> priority;  // process.priority; nothing: the master's
  bool dumpable = false;        // process.dumpable
  /// Neither it nor what it executes can get more rights than it has, by set-user-ID files say.
  bool no_new_privs = true;
  std::string chroot;  // "": none
  std::string chdir;   // inside the chroot; "": where the master is, or the new root
  bool clear_env = true;
  /// env[NAME]: names and values as written; one that begins with $ names a variable of the master.
  std::vector<std::pair<std::string, std::string>> environment;
  bool catch_output = false;    // catch_workers_output
  bool decorate_output = true;  // decorate_workers_output
};

}  // namespace quarry::master
