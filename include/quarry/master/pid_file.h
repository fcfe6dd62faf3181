// The file with the master's process number: whose it is, and who may write it.
#pragma once

#include <string>

#include "quarry/base/result.h"

namespace quarry::master {

/// Whether the pid file PATH may become this process's: it is not that of another master that
/// lives. Errors: kBusy.
base::Result<void> check_pid_file(const std::string& path);
/// Writes this process's number into PATH. Errors: kBusy, kIo.
base::Result<void> write_pid_file(const std::string& path);

}  // namespace quarry::master
