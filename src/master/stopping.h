// Decides how the master stops: gracefully, then immediately (SIGTERM), and finally by force
// (SIGKILL). Each step has a timeout before the next. This class only decides what to do next,
// based on numbers.
//
//   graceful    each kind of service is asked to end when those before it have ended (ServiceKind)
//   immediate   all are terminated at the same time, except for the receivers, because the others
//               pass work to them: receivers are terminated when the others have ended, by force if
//               necessary, and have their own timeout
//   by force    all are killed
//
// A stop can become harsher but never milder.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "quarry/master/service.h"

namespace quarry::master {

/// Groups of services that are stopped together, in order.
enum class StopPhase : std::size_t { kFronts, kPools, kJobs, kReceivers };
inline constexpr std::size_t kStopPhases = 4;
StopPhase phase_of(ServiceKind kind);

/// The number of children, by the phases in which they are stopped.
using LivingChildren = std::array<std::size_t, kStopPhases>;
/// Returns the number of children in the phases from FIRST to LAST.
std::size_t sum_of(const LivingChildren& living, StopPhase first = StopPhase::kFronts,
                   StopPhase last = StopPhase::kReceivers);

/// The signal that children are sent.
enum class StopWay { kQuit, kTerminate, kKill };

struct StopOrder {
  StopWay way;
  StopPhase first;
  StopPhase last;  // inclusive
  /// When to call time_is_up(); nullopt: the last deadline is still valid.
  std::optional<std::chrono::milliseconds> deadline;
};

class Stopping {
 public:
  /// GRACE is the maximum time for a graceful stop.
  explicit Stopping(std::chrono::milliseconds grace) : grace_(grace) {}

  /// Both return false if the stop is already at least as harsh.
  bool gracefully() { return go(StopWay::kQuit); }
  bool at_once() { return go(StopWay::kTerminate); }
  /// Call this at the deadline of the last order. Returns the signal that is used from now on.
  StopWay time_is_up();

  /// Returns the next order, or nullopt if the caller has to wait. Call it again after each order,
  /// when a child has ended, and after the functions above.
  std::optional<StopOrder> next(const LivingChildren& living);

 private:
  bool go(StopWay way);

  std::chrono::milliseconds grace_;
  std::optional<StopWay> way_;
  std::size_t phases_notified_ = 0;      // number of phases that were sent the signal of way_
  bool kills_before_receivers_ = false;  // whether the next step is to kill children that SIGTERM
                                         // has not ended
};

}  // namespace quarry::master
