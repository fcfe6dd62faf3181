// Decides when too many children have crashed in a short time and all of them have to be replaced:
// emergency_restart_threshold crashes within emergency_restart_interval.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace quarry::master {

class EmergencyRestart {
 public:
  using Clock = std::chrono::steady_clock;

  /// After THRESHOLD crashes within INTERVAL; never, if either is 0.
  EmergencyRestart(std::size_t threshold, std::chrono::milliseconds interval)
      : threshold_(threshold), interval_(interval) {}

  /// Counts a crash at NOW, which must not be before the last one. Returns true if it reaches the
  /// threshold; then the count starts again.
  bool after_crash(Clock::time_point now);

  /// The number of crashes within the interval before NOW.
  std::size_t crashes(Clock::time_point now) const;

  /// Whether SIGNAL means a crash: an invalid memory access.
  static bool is_crash(int signal);

 private:
  std::size_t threshold_;
  std::chrono::milliseconds interval_;
  std::deque<Clock::time_point> crashes_;  // the latest ones, fewer than the threshold
};

}  // namespace quarry::master
