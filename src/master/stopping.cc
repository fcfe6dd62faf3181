#include "stopping.h"

#include <numeric>
#include <utility>

namespace quarry::master {
namespace {

// Time between SIGTERM and SIGKILL. A child can use this time to finish a commit, so that a
// write-ahead log is not left next to the repository. The courier can use up to four seconds to end
// its programs.
constexpr std::chrono::milliseconds kTerminateGrace{8000};

constexpr std::size_t kBeforeReceivers = static_cast<std::size_t>(StopPhase::kReceivers);

}  // namespace

StopPhase phase_of(ServiceKind kind) {
  switch (kind) {
    case ServiceKind::kFront:
      return StopPhase::kFronts;
    case ServiceKind::kPool:
    case ServiceKind::kObserver:
      return StopPhase::kPools;
    case ServiceKind::kJob:
      return StopPhase::kJobs;
    case ServiceKind::kReceiver:
      return StopPhase::kReceivers;
  }
  return StopPhase::kPools;
}

std::size_t sum_of(const LivingChildren& living, StopPhase first, StopPhase last) {
  const auto at = [&living](StopPhase phase) {
    return living.begin() + static_cast<std::ptrdiff_t>(phase);
  };
  return std::accumulate(at(first), at(last) + 1, std::size_t{0});
}

bool Stopping::go(StopWay way) {
  if (way_ && way <= *way_) return false;
  way_ = way;
  phases_notified_ = 0;
  return true;
}

StopWay Stopping::time_is_up() {
  if (way_ == StopWay::kTerminate && phases_notified_ == kBeforeReceivers) {
    kills_before_receivers_ = true;
    return StopWay::kKill;
  }
  go(way_ == StopWay::kQuit ? StopWay::kTerminate : StopWay::kKill);
  return *way_;
}

std::optional<StopOrder> Stopping::next(const LivingChildren& living) {
  if (std::exchange(kills_before_receivers_, false)) {
    return StopOrder{StopWay::kKill, StopPhase::kFronts, StopPhase::kJobs, std::nullopt};
  }
  if (!way_ || phases_notified_ == kStopPhases) return std::nullopt;
  // Wait until the earlier phases have ended.
  if (phases_notified_ > 0 &&
      sum_of(living, StopPhase::kFronts, static_cast<StopPhase>(phases_notified_ - 1)) > 0) {
    return std::nullopt;
  }
  const std::size_t first = phases_notified_;
  std::optional<std::chrono::milliseconds> deadline;
  switch (*way_) {
    case StopWay::kQuit:
      if (first == 0) deadline = grace_;
      phases_notified_ = first + 1;
      break;
    case StopWay::kTerminate:
      deadline = kTerminateGrace;
      phases_notified_ = first == 0 ? kBeforeReceivers : kStopPhases;
      break;
    case StopWay::kKill:
      phases_notified_ = kStopPhases;
      break;
  }
  return StopOrder{.way = *way_,
                   .first = static_cast<StopPhase>(first),
                   .last = static_cast<StopPhase>(phases_notified_ - 1),
                   .deadline = deadline};
}

}  // namespace quarry::master
