// This process's log, written to a file, standard error, syslog or journald.
//
//   [2026-03-04T05:06:07.123456Z] notice: [pool www] child 1234 started
//   {"time":"2026-03-04T05:06:07.123456Z","level":"notice","pid":99,"child":"pool
//   www","message":"…"}
//
// Files are opened for appending and each line is written with a single write(2), so lines of
// different processes never mix. Callers have to pass untrusted text (request paths, user names)
// through printable(). Control characters never reach a log line, even if a caller forgets that.
//
// The master opens the log before it starts children, which inherit it. The log is global state;
// the only other global state is the worker's stop signal.
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

/// Returns the name that PHP-FPM uses: debug, notice, warning, error or alert.
std::string_view name_of(LogLevel level);

/// Opens the log with OPTIONS. A missing file is created with mode 0640. Errors: kIo; in that case
/// the log is unchanged.
Result<void> open_log(const LogOptions& options);
/// Whether reopening creates a missing file. Only the master does, so that it has the right owner.
enum class Reopening { kMakesFile, kWantsFile };
/// Opens the log file PATH for appending. WHAT, such as "access log", appears in the error message.
/// Errors: kIo.
Result<Fd> open_log_file(const char* what, const std::string& path, Reopening reopening);
/// Checks that open_log() would succeed, without changing anything. Errors: kIo.
Result<void> check_log(const LogOptions& options);
/// Checks the same for another log, which is the file PATH.
Result<void> check_log_file(const std::string& path);
/// Reopens the log's file, for log rotation. The descriptor keeps its number. For other log
/// targets, the function does nothing. Errors: kIo; in that case logging continues to the old file.
Result<void> reopen_log(Reopening reopening);
/// Unblocks SIGUSR1, with which the master asks a child to reopen its logs. SIGUSR1 is blocked
/// until the child has installed a handler.
void unblock_reopen_signal();
/// Returns the descriptor that a child must keep open to write to the log.
int log_descriptor();

/// Sets the minimum level: lines below LEVEL are dropped.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Writes lines as text to FD, which the caller keeps open. The default is standard error.
void set_log_descriptor(int fd);
/// Sets the prefix of each message, such as "pool www". Called once after a fork.
void set_log_prefix(std::string prefix);

void log_line(LogLevel level, std::string_view message);
/// Logs MESSAGE without any prefix, unless LEVEL is below the log's level.
void log_bare(LogLevel level, std::string_view message);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace quarry::base
