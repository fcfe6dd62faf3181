// Limits the rate of a log line that could otherwise appear thousands of times per second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace quarry::gateway {

class LogThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LogThrottle(std::chrono::milliseconds pause) : pause_(pause) {}

  /// nullopt if the line must be dropped at NOW; otherwise the number of lines dropped since the last
  /// one.
  std::optional<std::uint64_t> pass(Clock::time_point now) {
    if (last_ && now - *last_ < pause_) {
      ++left_out_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(left_out_, 0);
  }

 private:
  std::chrono::milliseconds pause_;
  std::optional<Clock::time_point> last_;
  std::uint64_t left_out_ = 0;
};

}  // namespace quarry::gateway
