// Decides when the master replaces a child that has died, and when it replaces all children.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>

namespace quarry::master {

struct Death {
  std::chrono::milliseconds lived{0};
  bool was_orderly = false;  // exit code 0 after a request, or because it could not reopen its logs
  bool was_killed = false;   // by SIGKILL
};

/// A dead child is replaced immediately, unless its service is in a crash loop.
///
/// A crash is quick if the child lived for less than a second and did not end in an orderly way.
/// The first few quick crashes in a row are ignored. After them, the delay doubles up to a limit,
/// until a child lives longer. A child killed by SIGKILL was ended from outside (by an operator or
/// the OOM killer), which says nothing about the next child.
class RespawnPolicy {
 public:
  /// Returns the delay before the replacement is started.
  std::chrono::milliseconds after(const Death& death);

 private:
  int quick_deaths_ = 0;
};

/// Decides when too many children have crashed in a short time and all of them have to be replaced:
/// emergency_restart_threshold crashes within emergency_restart_interval.
class EmergencyRestart {
 public:
  using Clock = std::chrono::steady_clock;

  /// Replaces all children after THRESHOLD crashes within INTERVAL, or never if either is 0.
  EmergencyRestart(std::size_t threshold, std::chrono::milliseconds interval)
      : threshold_(threshold), interval_(interval) {}

  /// Counts a crash at NOW, which must not be before the last one. Returns true if the crash
  /// reaches the threshold; counting then starts again.
  bool after_crash(Clock::time_point now);

  /// Returns the number of crashes within the interval before NOW.
  std::size_t crashes(Clock::time_point now) const;

  /// Returns whether SIGNAL means a crash, that is, an invalid memory access.
  static bool is_crash(int signal);

 private:
  std::size_t threshold_;
  std::chrono::milliseconds interval_;
  std::deque<Clock::time_point> crashes_;  // the latest ones, fewer than the threshold
};

}  // namespace quarry::master
