// When so many children have crashed in so short a time that the master had better begin afresh
// (emergency_restart_threshold within emergency_restart_interval). Decides from numbers alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace quarry::master {

class EmergencyRestart {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of THRESHOLD crashes within INTERVAL; never, if either is 0.
  EmergencyRestart(std::size_t threshold, std::chrono::milliseconds interval)
      : threshold_(threshold), interval_(interval) {}

  /// Whether the crash of a child at NOW (never before the last one's) is the one too many. The
  /// count then begins again.
  bool after_crash(Clock::time_point now);

  /// How many crashes count at NOW.
  std::size_t crashes(Clock::time_point now) const;

  /// Whether a child that this signal ended has crashed: it touched memory that is not there.
  static bool is_crash(int signal);

 private:
  std::size_t threshold_;
  std::chrono::milliseconds interval_;
  std::deque<Clock::time_point> crashes_;  // the last ones, fewer than the threshold
};

}  // namespace quarry::master
