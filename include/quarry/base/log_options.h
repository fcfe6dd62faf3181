// Where the process's log goes, and in what form.
//
// The words of the configuration: error_log = stderr | PATH | syslog[:SOCKET] | journald[:SOCKET].
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
  kSyslog,    // datagrams as syslog(3) writes them (RFC 3164)
  kJournald,  // datagrams of systemd's native journal protocol
};

enum class LogForm : std::uint8_t { kText, kJson };

/// The least that log_limit may be: whatever stands before a message fits many times.
constexpr std::size_t kLeastLogLimit = 512;

struct LogOptions {
  LogTarget target = LogTarget::kStderr;
  std::string path;  // of the file or socket
  LogLevel level = LogLevel::kNotice;
  LogForm form = LogForm::kText;  // journald has fields of its own and is not asked
  /// Bytes of a line without its end; what is longer goes on in further lines.
  std::size_t limit = 1024;
  /// Each line is one write(2). Without it, its parts are written as they are: less copying, but
  /// lines of several processes may mix. Datagrams are always whole.
  bool is_buffered = true;
  int facility = 3 << 3;  // LOG_DAEMON
  std::string ident = "quarryd";
};

/// Sets target and path from the value of error_log. Errors: kInvalid.
Result<void> set_log_target(LogOptions& options, std::string_view value);
/// The value of error_log that set target and path so.
std::string log_target_of(const LogOptions& options);
/// Whether PATH names a descriptor of whoever opens it, as /dev/stderr and /proc/self/fd/2 do: to
/// open it anew in another process would be to open something else.
bool is_own_descriptor(std::string_view path);
/// The facility that syslog(3) calls LOG_NAME, in any case of letters.
std::optional<int> syslog_facility_named(std::string_view name);
/// The name of FACILITY, which has one.
std::string_view syslog_facility_name(int facility);

}  // namespace quarry::base
