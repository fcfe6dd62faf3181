// Decides when the master replaces a child that has exited, and when it replaces all children.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace quarry::master {

struct Death {
  std::chrono::milliseconds lived{0};
  bool was_orderly = false;  // exited with 0 after a request
  bool was_killed = false;   // by SIGKILL
};

/// A child that has exited is replaced immediately, unless its service is in a crash loop.
///
/// A crash is quick if the child ran for less than a second and did not end in an orderly way. The
/// first few quick crashes in a row are ignored. Then the delay doubles with each crash, up to a
/// limit, until a child runs for a second or more. If a child was killed by SIGKILL, the cause was
/// external (an operator or the OOM killer), so the crash does not count.
class RespawnPolicy {
 public:
  /// Returns the delay before the replacement is started.
  std::chrono::milliseconds after(const Death& death);

 private:
  int quick_deaths_ = 0;
};

/// Decides when all children have to be replaced because too many have crashed:
/// emergency_restart_threshold crashes within emergency_restart_interval.
class EmergencyRestart {
 public:
  using Clock = std::chrono::steady_clock;

  /// Replaces all children after THRESHOLD crashes within INTERVAL. If THRESHOLD or INTERVAL is 0,
  /// never replaces all children.
  EmergencyRestart(std::size_t threshold, std::chrono::milliseconds interval)
      : threshold_(threshold), interval_(interval) {}

  /// Counts a crash at NOW, which must not be before the last crash. Returns true if the crash
  /// reaches the threshold; counting then starts again.
  bool after_crash(Clock::time_point now);

  /// Returns the number of crashes within the interval before NOW.
  std::size_t crashes(Clock::time_point now) const;

  /// Returns whether SIGNAL means a crash, such as an invalid memory access.
  static bool is_crash(int signal);

 private:
  std::size_t threshold_;
  std::chrono::milliseconds interval_;
  std::deque<Clock::time_point> crashes_;  // the latest crashes, fewer than the threshold
};

}  // namespace quarry::master
