// This process's log, written to a file, standard error, syslog or journald.
//
//   [2026-03-04T05:06:07.123456Z] notice: [pool www] child 1234 started
//   {"time":"2026-03-04T05:06:07.123456Z","level":"notice","pid":99,"child":"pool
//   www","message":"…"}
//
// Files are opened for appending and each line is written with a single write(2), so lines of
// different processes never mix. If the log is a pipe, terminal or socket and its reader does not
// keep up, lines are lost (log_stream.h). Callers have to escape untrusted text (request paths,
// user names) with printable(). As a safeguard, the log itself also escapes control characters.
//
// The master opens the log before it starts children. Children inherit the descriptor.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
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

/// Opens the log with OPTIONS. A missing file is created with mode 0640. LOST is lost_lines_memory()
/// of an earlier log, whose number of lost lines continues. Errors: kIo; in that case the log is
/// unchanged.
Result<void> open_log(const LogOptions& options, Fd lost = {});
/// Opens the log file PATH for appending. A missing file is created with mode 0640. WHAT, such as
/// "access log", is part of the error message. Errors: kIo.
Result<Fd> open_log_file(const char* what, const std::string& path);
/// Checks that open_log() would succeed with OPTIONS. Does not change anything. Errors: kIo.
Result<void> check_log(const LogOptions& options);
/// Checks that the log file PATH can be opened. Errors: kIo.
Result<void> check_log_file(const std::string& path);
/// Reopens the log file, for log rotation. The descriptor keeps its number. Does nothing if the log
/// is not a file. After an error, logging continues to the old file. Errors: kIo.
Result<void> reopen_log();
/// From now on, logs to FRESH, the log file that another process has reopened. The descriptor of
/// the log keeps its number. Does nothing if the log is not a file. Errors: kIo.
Result<void> replace_log(const Fd& fresh);
/// Unblocks SIGUSR1, with which the master tells its children to reopen their logs. A child calls
/// this function after it has installed a handler for the signal.
void unblock_reopen_signal();
/// Returns the number of lines that the log has lost since open_log(), in this process, its parent
/// and all children.
std::uint64_t lost_log_lines();
/// Returns the memory file with this number, or -1 if the log is not open.
int lost_lines_memory();
/// Returns a message which says that the log WHAT has lost LOST lines.
std::string lost_lines_message(std::string_view what, std::uint64_t lost);
/// Returns the descriptor of the log. A child has to keep this descriptor open.
int log_descriptor();

/// Sets the minimum level. Lines below LEVEL are dropped.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Sends the log to FD, as text. The caller keeps ownership of FD. The default is standard error.
void set_log_descriptor(int fd);
/// Sets the prefix of each message, such as "pool www". Called once, after a fork.
void set_log_prefix(std::string prefix);

void log_line(LogLevel level, std::string_view message);
/// A line of a text log: "[2026-03-04T05:06:07.123456Z] LEVEL: MESSAGE".
struct LoggedLine {
  LogLevel level;
  std::string_view message;
};
/// Splits LINE, which another process has printed, if it is a line of a text log. The result refers
/// to LINE.
std::optional<LoggedLine> parse_logged(std::string_view line);
/// Logs LINE, which another process has printed, without a prefix. If LINE is a line of a text log,
/// the level in LINE replaces LEVEL, and a log in another format gets only the message in LINE.
/// Skips LINE if the level is below the minimum level.
void log_bare(LogLevel level, std::string_view line);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace quarry::base
