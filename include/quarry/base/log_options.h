// Target and format of the log. The target is set in the configuration:
//
//   error_log = stderr | PATH | syslog[:SOCKET] | journald[:SOCKET] | destination:NAME
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::base {

enum class LogLevel : std::uint8_t { kDebug, kNotice, kWarning, kError, kAlert };

enum class LogTarget : std::uint8_t {
  kStderr,
  kFile,
  kSyslog,       // datagrams as syslog(3) writes them (RFC 3164)
  kJournald,     // datagrams of systemd's native journal protocol
  kDestination,  // a FIFO, from which a courier reads
};

enum class LogForm : std::uint8_t { kText, kJson };

/// Minimum value of log_limit. The prefix of a line is far shorter, so there is always room for a
/// message.
constexpr std::size_t kMinLogLimit = 512;

struct LogOptions {
  LogTarget target = LogTarget::kStderr;
  std::string path;              // path of the file, socket or FIFO
  std::string destination = {};  // for kDestination: NAME
  LogLevel level = LogLevel::kNotice;
  LogForm form = LogForm::kText;  // ignored for journald, which has its own fields
  /// Maximum length of a line in bytes, without the newline. A longer message is split into several
  /// lines.
  std::size_t limit = 1024;
  /// Whether each line is written with a single write(2). If false, the parts of a line are not
  /// copied into one buffer but written separately, so lines of different processes can mix.
  /// Datagrams are never split.
  bool is_buffered = true;
  int facility = 3 << 3;  // LOG_DAEMON
  std::string ident = "quarryd";
};

/// Sets target and path of OPTIONS from the value of error_log. Errors: kInvalid.
Result<void> set_log_target(LogOptions& options, std::string_view value);
/// Returns the value of error_log for the target and path of OPTIONS.
std::string log_target_of(const LogOptions& options);
/// Returns NAME if VALUE, the value of a directive for a log, is destination:NAME.
std::optional<std::string_view> destination_in(std::string_view value);
/// Returns whether PATH, such as /dev/stderr or /proc/self/fd/2, refers to a descriptor of the
/// calling process. In another process, such a path leads to a different file.
bool is_own_descriptor(std::string_view path);
/// Returns the syslog(3) facility NAME. NAME is written without the prefix LOG_, in upper or lower
/// case.
std::optional<int> syslog_facility_named(std::string_view name);
/// Returns the name of FACILITY, which must be valid.
std::string_view syslog_facility_name(int facility);

}  // namespace quarry::base
