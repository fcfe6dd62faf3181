// Lets a line that may come thousands of times a second into the log now and then.
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

  /// Nothing where the line is to be left out at NOW; otherwise how many were, since the last that
  /// was not.
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
