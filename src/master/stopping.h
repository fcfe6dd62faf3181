// How the master stops: gracefully, at once (SIGTERM), and in the end by force (SIGKILL), each with
// a time of its own until the next. What is to be done is decided here, from numbers alone.
//
//   graceful   each kind of service is asked when those before it have ended (ServiceKind)
//   at once    all are terminated together, but for the receivers, which they hand to: those are
//              terminated when the others have ended, if need be by force, and have their own time
//   by force   all are killed
//
// An earlier way is never gone back to.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "quarry/master/service.h"

namespace quarry::master {

/// The kinds of services that are stopped together, in their order.
enum class StopPhase : std::size_t { kFronts, kPools, kJobs, kReceivers };
inline constexpr std::size_t kStopPhases = 4;
StopPhase phase_of(ServiceKind kind);

/// How many children there are, by the phases in which they are stopped.
using LivingChildren = std::array<std::size_t, kStopPhases>;
/// Of the phases from FIRST to LAST.
std::size_t sum_of(const LivingChildren& living, StopPhase first = StopPhase::kFronts,
                   StopPhase last = StopPhase::kReceivers);

/// How children are told.
enum class StopWay { kQuit, kTerminate, kKill };

struct StopOrder {
  StopWay way;
  StopPhase first;  // these, and all up to
  StopPhase last;
  /// After which time Stopping is to be told that it is over; nothing: as it is.
  std::optional<std::chrono::milliseconds> deadline;
};

class Stopping {
 public:
  /// GRACE: how long a graceful stop may take.
  explicit Stopping(std::chrono::milliseconds grace) : grace_(grace) {}

  /// Each says whether that is more than before.
  bool gracefully() { return go(StopWay::kQuit); }
  bool at_once() { return go(StopWay::kTerminate); }
  /// The deadline of the last order is over. Returns the way from now on.
  StopWay time_is_up();

  /// What is to be done next, with these alive; nothing: to wait. To be asked again after each
  /// order, after each end of a child, and after what is above.
  std::optional<StopOrder> next(const LivingChildren& living);

 private:
  bool go(StopWay way);

  std::chrono::milliseconds grace_;
  std::optional<StopWay> way_;
  std::size_t phases_notified_ = 0;      // so many phases were told, in this way
  bool kills_before_receivers_ = false;  // they were terminated, and have not ended
};

}  // namespace quarry::master
