// How the master stops: gracefully, then immediately (SIGTERM), and finally by force (SIGKILL), each
// with a timeout before the next. This class only decides what to do next, from numbers.
//
//   graceful    each kind of service is asked to end when those before it have ended (ServiceKind)
//   immediate   all are terminated at the same time, except for the receivers, to which they pass
//               work: receivers are terminated when the others have ended, by force if necessary,
//               and have their own timeout
//   by force    all are killed
//
// A stop only ever becomes harsher.
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
/// The number of children in the phases from FIRST to LAST.
std::size_t sum_of(const LivingChildren& living, StopPhase first = StopPhase::kFronts,
                   StopPhase last = StopPhase::kReceivers);

/// The signal that children get.
enum class StopWay { kQuit, kTerminate, kKill };

struct StopOrder {
  StopWay way;
  StopPhase first;
  StopPhase last;  // inclusive
  /// When to call time_is_up(); nullopt: the last deadline stays.
  std::optional<std::chrono::milliseconds> deadline;
};

class Stopping {
 public:
  /// GRACE: how long a graceful stop may take.
  explicit Stopping(std::chrono::milliseconds grace) : grace_(grace) {}

  /// Both return false if the stop is already as harsh or harsher.
  bool gracefully() { return go(StopWay::kQuit); }
  bool at_once() { return go(StopWay::kTerminate); }
  /// Call it at the deadline of the last order. Returns the signal that is used from now on.
  StopWay time_is_up();

  /// The next order; nullopt: wait. Call it again after each order, when a child has ended, and after
  /// the functions above.
  std::optional<StopOrder> next(const LivingChildren& living);

 private:
  bool go(StopWay way);

  std::chrono::milliseconds grace_;
  std::optional<StopWay> way_;
  std::size_t phases_notified_ = 0;      // phases that got the signal way_
  bool kills_before_receivers_ = false;  // next: kill children that SIGTERM has not ended
};

}  // namespace quarry::master
