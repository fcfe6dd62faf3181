// Settings of a child process: limits, priority, folders, environment, and how its output is
// captured. The configuration fills them in, and every new child applies them (process_setup.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quarry::master {

/// Limits of setrlimit(2), RLIM_INFINITY included; nullopt: inherited from the master.
struct ResourceLimits {
  std::optional<std::uint64_t> files;  // rlimit_files
  std::optional<std::uint64_t> core;   // rlimit_core
};

struct ProcessSettings {
  ResourceLimits limits;
  std::optional<int> priority;  // process.priority; nullopt: the master's
  bool dumpable = false;        // process.dumpable
  /// Neither the process nor programs that it executes can gain privileges, for example by
  /// set-user-ID files.
  bool no_new_privs = true;
  std::string chroot;  // "": none
  std::string chdir;   // inside the chroot; "": the master's folder, or the new root
  bool clear_env = true;
  /// env[NAME]: names and values as written; a value that starts with $ names a variable of the
  /// master.
  std::vector<std::pair<std::string, std::string>> environment;
  bool catch_output = false;    // catch_workers_output
  bool decorate_output = true;  // decorate_workers_output
};

}  // namespace quarry::master
