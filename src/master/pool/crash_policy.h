// What the master does about children that die: when each is replaced, and when all are.
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
/// A crash is quick if the child lived for less than a second and did not end in an orderly way. The
/// first few quick crashes in a row are ignored; after them the delay doubles up to a limit, until a
/// child lives longer. A child killed with SIGKILL was ended from outside (by an operator or the OOM
/// killer), which predicts nothing about the next one.
class RespawnPolicy {
 public:
  /// The delay before the replacement is started.
  std::chrono::milliseconds after(const Death& death);

 private:
  int quick_deaths_ = 0;
};

/// Decides when too many children have crashed in a short time and all of them have to be replaced:
/// emergency_restart_threshold crashes within emergency_restart_interval.
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
