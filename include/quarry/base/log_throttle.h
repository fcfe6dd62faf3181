// Limits the rate of a log line that might otherwise be logged thousands of times per second.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::base {

class LogThrottle {
 public:
  void warn(std::string_view line) { write(LogLevel::kWarning, line); }
  /// Logs LINE and the number of dropped lines. Drops LINE if a line was logged in the last few
  /// seconds.
  void write(LogLevel level, std::string_view line) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      ++dropped_;
      return;
    }
    next_ = now + std::chrono::seconds(5);
    const std::uint64_t dropped = std::exchange(dropped_, 0);
    log(level, "{}{}", line,
        dropped == 0 ? "" : fmt::format(" ({} similar messages suppressed)", dropped));
  }

 private:
  std::chrono::steady_clock::time_point next_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace quarry::base
