// Decides how the master stops: gracefully, then immediately (SIGTERM), and finally by force
// (SIGKILL). Each step has a timeout, after which the next step follows. This class only makes the
// decisions, based on numbers.
//
//   graceful    the kinds of services are stopped one after the other (ServiceKind)
//   immediate   all services except the receivers are terminated at the same time. Receivers are
//               terminated after that, with a separate timeout, because other services pass work
//               to them
//   by force    all services are killed
//
// A stop never returns to an earlier step.
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

using LivingChildren = std::array<std::size_t, kStopPhases>;
/// Returns the number of children in the phases from FIRST to LAST.
std::size_t sum_of(const LivingChildren& living, StopPhase first = StopPhase::kFronts,
                   StopPhase last = StopPhase::kReceivers);

/// The signal that is sent to children.
enum class StopWay { kQuit, kTerminate, kKill };

struct StopOrder {
  StopWay way;
  StopPhase first;
  StopPhase last;  // inclusive
  /// Deadline for time_is_up(). nullopt: the last deadline is still valid.
  std::optional<std::chrono::milliseconds> deadline;
};

class Stopping {
 public:
  /// Creates the object. GRACE is the maximum time for a graceful stop.
  explicit Stopping(std::chrono::milliseconds grace) : grace_(grace) {}

  /// Starts a stop. Returns false if the current stop is already at least as severe.
  bool gracefully() { return go(StopWay::kQuit); }
  bool at_once() { return go(StopWay::kTerminate); }
  /// Called at the deadline of the last order. Returns the signal for the next orders.
  StopWay time_is_up();

  /// Returns the next order, or nullopt if the caller has to wait. Call it again after each order,
  /// after a child has exited, and after gracefully(), at_once() or time_is_up().
  std::optional<StopOrder> next(const LivingChildren& living);

 private:
  bool go(StopWay way);

  std::chrono::milliseconds grace_;
  std::optional<StopWay> way_;
  std::size_t phases_notified_ = 0;      // number of phases that got the signal of way_
  bool kills_before_receivers_ = false;  // whether children that ignored SIGTERM are killed next
};

}  // namespace quarry::master
