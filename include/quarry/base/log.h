// The process's one log: lines to a file, standard error, syslog or journald.
//
//   [2026-03-04T05:06:07.123456Z] notice: [pool www] child 1234 started
//   {"time":"2026-03-04T05:06:07.123456Z","level":"notice","pid":99,"child":"pool
//   www","message":"…"}
//
// Files are opened for appending and each line is written with a single write(2), so that lines of
// several processes never mix. Text that comes from outside (request paths, user names) goes
// through printable() first; control characters never reach a line, whoever wrote them.
//
// Opened by the master before it has children; they inherit it. Global state, of which
// there is otherwise only the worker's stop signal.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/log_options.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// PHP-FPM's names: debug, notice, warning, error, alert.
std::string_view name_of(LogLevel level);
/// The level called NAME, or kNotice with *known set to false.
LogLevel log_level_named(std::string_view name, bool* known);

/// The log is as OPTIONS say from now on. A file is made with mode 0640 where there is none.
/// Errors: kIo; the log is as it was then.
Result<void> open_log(const LogOptions& options);
/// Who may make the file that is not there: the master, whose file then has the right owner.
enum class Reopening { kMakesFile, kWantsFile };
/// Whether open_log() would succeed, without making or changing anything. Errors: kIo.
Result<void> check_log(const LogOptions& options);
/// The same for the file PATH of another log.
Result<void> check_log_file(const std::string& path);
/// Opens the log's file anew, so that one that was moved away is let go. The descriptor keeps its
/// number. The other targets have nothing to reopen. Errors: kIo; the log goes on as it was.
Result<void> reopen_log(Reopening reopening);
/// Lets SIGUSR1 come, by which the master tells a child to reopen its logs: it holds the signal
/// back until the child has a handler.
void unblock_reopen_signal();
/// What a child must keep open to write to the log.
int log_descriptor();

/// Lines below LEVEL are dropped from now on.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Lines go to FD as text from now on. The log does not own it. Default: standard error.
void set_log_descriptor(int fd);
/// What stands before each message, "pool www" say. Set once after a fork.
void set_log_prefix(std::string prefix);

void log_line(LogLevel level, std::string_view message);
/// MESSAGE as a line of the log with nothing before it, unless LEVEL is below the log's.
void log_bare(LogLevel level, std::string_view message);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace quarry::base
