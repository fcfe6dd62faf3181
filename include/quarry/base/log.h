// The process's one log: lines to a descriptor, each written with a single write(2) so that lines
// of several processes never mix.
//
//   [2026-03-04T05:06:07.123456Z] notice: [pool www] child 1234 started
//
// Text that comes from outside (request paths, user names) goes through printable() first, so that
// nobody can forge a line. One of the two globals that the style page allows.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace quarry::base {

enum class LogLevel { kDebug, kNotice, kWarning, kError, kAlert };

/// PHP-FPM's names: debug, notice, warning, error, alert.
std::string_view name_of(LogLevel level);
/// The level called NAME, or kNotice with *known set to false.
LogLevel log_level_named(std::string_view name, bool* known);

/// Lines below LEVEL are dropped from now on.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Lines go to FD from now on. The log does not own it. Default: standard error.
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

/// TEXT with every byte that is not printable ASCII or valid UTF-8 escaped as \xHH, and cut at
/// LIMIT bytes.
std::string printable(std::string_view text, std::size_t limit = 256);

}  // namespace quarry::base
