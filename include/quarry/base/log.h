// The log of this process: lines to a file, standard error, syslog or journald.
//
//   [2026-03-04T05:06:07.123456Z] notice: [pool www] child 1234 started
//   {"time":"2026-03-04T05:06:07.123456Z","level":"notice","pid":99,"child":"pool
//   www","message":"…"}
//
// Files are opened for appending and each line is written with a single write(2), so that lines of
// different processes never mix. Callers pass untrusted text (request paths, user names) through
// printable(); control characters never reach a log line in any case.
//
// The master opens the log before it starts children, which inherit it. The log is global state; the
// only other global state is the worker's stop signal.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/log_options.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// PHP-FPM's names: debug, notice, warning, error, alert.
std::string_view name_of(LogLevel level);

/// Opens the log with OPTIONS. A missing file is created with mode 0640. Errors: kIo; the log is
/// unchanged then.
Result<void> open_log(const LogOptions& options);
/// Whether a missing file is created. Only the master creates it, so that it has the right owner.
enum class Reopening { kMakesFile, kWantsFile };
/// Opens the file PATH of a log for appending; WHAT, such as "access log", is for the error. Errors:
/// kIo.
Result<Fd> open_log_file(const char* what, const std::string& path, Reopening reopening);
/// Checks that open_log() would succeed, without changing anything. Errors: kIo.
Result<void> check_log(const LogOptions& options);
/// The same for the file PATH of another log.
Result<void> check_log_file(const std::string& path);
/// Reopens the log's file, for log rotation. The descriptor keeps its number. Does nothing for the
/// other targets. Errors: kIo; logging continues to the old file.
Result<void> reopen_log(Reopening reopening);
/// Unblocks SIGUSR1, with which the master asks a child to reopen its logs. The signal is blocked
/// until the child has installed a handler.
void unblock_reopen_signal();
/// The descriptor that a child must keep open to write to the log.
int log_descriptor();

/// Drops lines below LEVEL.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Writes lines as text to FD, which the log does not own. Default: standard error.
void set_log_descriptor(int fd);
/// The prefix of each message, such as "pool www". Set once after a fork.
void set_log_prefix(std::string prefix);

void log_line(LogLevel level, std::string_view message);
/// Logs MESSAGE without any prefix, unless LEVEL is below the log's level.
void log_bare(LogLevel level, std::string_view message);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace quarry::base
