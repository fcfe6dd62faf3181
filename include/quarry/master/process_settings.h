// What a child process is given of its surroundings: limits, priority, folder, environment, and
// what becomes of what it prints. The configuration fills it in, every new child puts it in force.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"

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

/// Puts LIMITS and PRIORITY in force for this process. What the system refuses is no reason not to
/// run: a warning says so, and a limit is then raised as far as it can be.
void limit_process(const ResourceLimits& limits, std::optional<int> priority);

/// Makes a new child what SETTINGS and RUN_AS say, in the one order in which all of it is possible:
/// limits, environment, groups, root folder, user, working folder. Errors: what would make it
/// another process than the one that was asked for.
base::Result<void> put_in_force(const ProcessSettings& settings,
                                const std::optional<Credentials>& run_as);

}  // namespace quarry::master
