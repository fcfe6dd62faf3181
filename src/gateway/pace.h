// Measures the recent speed of a client and compares it with the minimum rate.
//
// The client starts with a credit for one second. Bytes above the minimum rate are credited only
// for a few seconds, because a short burst must not permit a long silence.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace quarry::gateway {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double kMaxAhead = 5;  // seconds

  /// Creates a pace for the minimum RATE in bytes per second, at least 1.
  explicit Pace(std::size_t rate)
      : rate_(static_cast<double>(std::max<std::size_t>(rate, 1))), since_(Clock::now()) {}

  void begin() {
    moved_ = 0;
    since_ = Clock::now();
  }
  void add(std::size_t bytes) {
    moved_ += static_cast<double>(bytes);
    if (moved_ / rate_ - seconds() <= kMaxAhead) return;
    moved_ = kMaxAhead * rate_;
    since_ = Clock::now();
  }
  bool has_moved() const { return moved_ > 0; }
  double bytes_a_second() const { return (moved_ + rate_) / std::max(seconds(), 1e-9); }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }

  double rate_;
  double moved_ = 0;
  Clock::time_point since_;
};

}  // namespace quarry::gateway
