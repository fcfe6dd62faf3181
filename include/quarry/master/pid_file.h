// The file with the master's process number: whose it is, and who may write it.
#pragma once

#include <sys/types.h>

#include <string>

#include "quarry/base/result.h"

namespace quarry::master {

/// Whether the pid file PATH may become that of the master SELF: it is not another's that runs,
/// and can be written. A process that has ended does not run, even if its parent has yet to wait for
/// it. Makes and changes nothing. Errors: kBusy, kInvalid (it is no file), kIo.
base::Result<void> check_pid_file(const std::string& path, pid_t self);
/// Writes this process's number into PATH, which is no link. Errors: as above.
base::Result<void> write_pid_file(const std::string& path);

}  // namespace quarry::master
