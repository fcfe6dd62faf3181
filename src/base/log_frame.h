// Formats a message as one or more log lines. Each line has a prefix and a suffix. Long messages
// are split.
//
//   file, standard error   [TIME] LEVEL: [CHILD] MESSAGE\n           or {"time":…,"message":"…"}\n
//   syslog (RFC 3164)      <PRIORITY>Mmm dd hh:mm:ss IDENT[PID]: LEVEL: [CHILD] MESSAGE
//   journald               PRIORITY=…\nSYSLOG_IDENTIFIER=…\n…MESSAGE=[CHILD] MESSAGE\n
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/base/log_options.h"

namespace quarry::base {

struct LogRecord {
  std::int64_t micros = 0;  // since 1970
  LogLevel level = LogLevel::kNotice;
  pid_t pid = 0;
  std::string_view child;  // such as "pool www"; "": the master
  std::string_view message;
  /// The id of the request. Only JSON and journald lines contain it.
  std::string_view request{};
};

class LogFrame {
 public:
  LogFrame(const LogOptions& options, const LogRecord& record);

  /// Return the prefix and the suffix of each line.
  const std::string& head() const { return head_; }
  std::string_view tail() const { return tail_; }
  /// Removes the next part from the message and returns it, escaped and within the limit. Call it
  /// until is_done(). Even an empty message has one part.
  std::string next_part();
  bool is_done() const { return is_begun_ && rest_.empty(); }

 private:
  void begin_text(const LogRecord& record);
  void begin_json(const LogRecord& record);
  void begin_syslog(const LogOptions& options, const LogRecord& record);
  void begin_journald(const LogOptions& options, const LogRecord& record);

  std::string head_;
  std::string_view tail_;
  std::string_view rest_;
  std::size_t room_ = 0;  // space for a part
  bool is_json_ = false;
  bool is_begun_ = false;
};

}  // namespace quarry::base
