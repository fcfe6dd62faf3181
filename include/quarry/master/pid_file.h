// The file with the master's process id.
#pragma once

#include <sys/types.h>

#include <string>

#include "quarry/base/result.h"

namespace quarry::master {

/// Checks that the master SELF can use the pid file PATH: the file is writable and does not belong
/// to another running process. Zombies do not count as running. Does not change the file. Errors:
/// kBusy, kInvalid (not a regular file), kIo.
Result<void> check_pid_file(const std::string& path, pid_t self);
/// Writes this process's id to PATH, which must not be a link. Errors: the same as for
/// check_pid_file().
Result<void> write_pid_file(const std::string& path);

}  // namespace quarry::master
