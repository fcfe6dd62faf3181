// Settings of a child process: limits, priority, folders, environment, and output capture. Each new
// child applies the settings from the configuration to itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"

namespace quarry::master {

/// Limits for setrlimit(2). RLIM_INFINITY means unlimited; nullopt means inherited from the master.
struct ResourceLimits {
  std::optional<std::uint64_t> files;  // rlimit_files
  std::optional<std::uint64_t> core;   // rlimit_core
};

struct ProcessSettings {
  ResourceLimits limits;
  std::optional<int> priority;  // process.priority; nullopt: inherited from the master
  bool dumpable = false;        // process.dumpable
  /// Whether to prevent the process and its programs from gaining privileges, for example by
  /// set-user-ID files.
  bool no_new_privs = true;
  std::string chroot;  // "": none
  std::string chdir;   // inside the chroot; "": the master's working folder, or the new root
  bool clear_env = true;
  /// env[NAME]: names and values as written. A value that starts with $ is the name of a variable
  /// in the master's environment.
  std::vector<std::pair<std::string, std::string>> environment;
  bool catch_output = false;    // catch_workers_output
  bool decorate_output = true;  // decorate_workers_output
};

/// Applies LIMITS and PRIORITY to this process. If the system refuses a limit, the function logs a
/// warning and raises the limit as far as possible.
void limit_process(const ResourceLimits& limits, std::optional<int> priority);

/// Applies SETTINGS and RUN_AS to a new child, in the only order that permits all steps: limits,
/// environment, groups, root folder, user, working folder. Returns an error if a setting that is
/// important for security cannot be applied.
Result<void> put_in_force(const ProcessSettings& settings,
                          const std::optional<Credentials>& run_as);

}  // namespace quarry::master
