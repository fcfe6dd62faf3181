// Settings of a child process: limits, priority, folders, environment, and how its output is
// captured. The configuration fills them in, and every new child applies them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"

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

/// Applies LIMITS and PRIORITY to this process. If the system refuses one, a warning is logged, and
/// a limit is raised as far as possible.
void limit_process(const ResourceLimits& limits, std::optional<int> priority);

/// Applies SETTINGS and RUN_AS to a new child, in the only order in which all steps are permitted:
/// limits, environment, groups, root folder, user, working folder. Fails if the child would differ
/// from its settings in a way that matters for safety.
base::Result<void> put_in_force(const ProcessSettings& settings,
                                const std::optional<Credentials>& run_as);

}  // namespace quarry::master
