#include "log_frame.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <syslog.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/time.h"

namespace quarry::base {
namespace {

constexpr std::int64_t kMicrosInSecond = 1000000;

// A datagram must fit into the socket's send buffer, whose default size is much larger than this.
constexpr std::size_t kLongestDatagram = std::size_t{64} << 10;

// Minimum size of a part of the message, even if the prefix uses up the limit.
constexpr std::size_t kMinRoom = 64;

int priority_of(LogLevel level) {
  constexpr std::array<int, 5> kPriorities = {LOG_DEBUG, LOG_NOTICE, LOG_WARNING, LOG_ERR,
                                              LOG_ALERT};
  return kPriorities[static_cast<std::size_t>(level)];
}

std::string syslog_time(std::int64_t micros) {
  return fmt::format("{:%b %e %T}", fmt::localtime(std::time_t{micros / kMicrosInSecond}));
}

}  // namespace

LogFrame::LogFrame(const LogOptions& options, const LogRecord& record) : rest_(record.message) {
  std::size_t uncounted = 0;
  is_json_ = options.form == LogForm::kJson && options.target != LogTarget::kJournald;
  if (options.target == LogTarget::kSyslog) begin_syslog(options, record);
  if (options.target == LogTarget::kJournald) {
    begin_journald(options, record);
    uncounted = head_.size();
    if (!record.child.empty()) head_ += fmt::format("[{}] ", record.child);
  } else if (is_json_) {
    begin_json(record);
  } else {
    begin_text(record);
  }
  const bool is_stream =
      options.target != LogTarget::kSyslog && options.target != LogTarget::kJournald;
  tail_ = is_json_ ? "\"}\n" : "\n";
  if (options.target == LogTarget::kSyslog) tail_.remove_suffix(1);
  const std::size_t taken = head_.size() - uncounted + tail_.size() - (is_stream ? 1 : 0);
  const std::size_t limit = is_stream ? options.limit : std::min(options.limit, kLongestDatagram);
  room_ = std::max(kMinRoom, limit - std::min(limit, taken));
}

void LogFrame::begin_text(const LogRecord& record) {
  const bool has_time = head_.empty();  // the frame of syslog already contains the time
  if (has_time) head_ = fmt::format("[{}] ", iso_micros(record.micros));
  head_ += fmt::format("{}: ", name_of(record.level));
  if (!record.child.empty()) head_ += fmt::format("[{}] ", record.child);
}

// The JSON library is not used here, because it allocates more memory, and lines are also logged
// when memory is almost exhausted.
void LogFrame::begin_json(const LogRecord& record) {
  head_ += fmt::format(R"({{"time":"{}","level":"{}","pid":{})", iso_micros(record.micros),
                       name_of(record.level), record.pid);
  if (!record.child.empty()) {
    head_ += ",\"child\":";
    append_json_string(head_, record.child);
  }
  if (!record.request.empty()) {
    head_ += ",\"request\":";
    append_json_string(head_, record.request);
  }
  head_ += ",\"message\":\"";
}

void LogFrame::begin_syslog(const LogOptions& options, const LogRecord& record) {
  head_ = fmt::format("<{}>{} {}[{}]: ", options.facility | priority_of(record.level),
                      syslog_time(record.micros), options.ident, record.pid);
}

void LogFrame::begin_journald(const LogOptions& options, const LogRecord& record) {
  head_ =
      fmt::format("PRIORITY={}\nSYSLOG_FACILITY={}\nSYSLOG_IDENTIFIER={}\nSYSLOG_PID={}\n",
                  priority_of(record.level), LOG_FAC(options.facility), options.ident, record.pid);
  if (!record.child.empty()) head_ += fmt::format("QUARRY_CHILD={}\n", record.child);
  if (!record.request.empty()) head_ += fmt::format("QUARRY_REQUEST_ID={}\n", record.request);
  head_ += "MESSAGE=";
}

std::string LogFrame::next_part() {
  is_begun_ = true;
  std::string part;
  part.reserve(std::min(room_, rest_.size() + rest_.size() / 8));
  while (!rest_.empty()) {
    const std::size_t size = part.size();
    std::string_view after = rest_;
    if (is_json_) {
      append_json_character(part, after);
    } else {
      append_message_character(part, after);
    }
    if (part.size() > room_) {
      part.resize(size);
      break;
    }
    rest_ = after;
  }
  return part;
}

}  // namespace quarry::base
