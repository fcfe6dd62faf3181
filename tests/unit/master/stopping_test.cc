#include "stopping.h"

#include <doctest/doctest.h>

using namespace quarry::master;
using namespace std::chrono_literals;

namespace {

bool is(const std::optional<StopOrder>& order, StopWay way, StopPhase first, StopPhase last) {
  return order && order->way == way && order->first == first && order->last == last;
}

}  // namespace

TEST_CASE("a graceful stop reaches each kind of service after the earlier kinds have ended") {
  Stopping stopping(7s);
  LivingChildren living{1, 4, 0, 1};
  CHECK_FALSE(stopping.next(living).has_value());
  REQUIRE(stopping.gracefully());
  const auto fronts = stopping.next(living);
  CHECK(is(fronts, StopWay::kQuit, StopPhase::kFronts, StopPhase::kFronts));
  CHECK(fronts->deadline == 7s);
  CHECK_FALSE(stopping.next(living).has_value());
  living[0] = 0;
  const auto pools = stopping.next(living);
  CHECK(is(pools, StopWay::kQuit, StopPhase::kPools, StopPhase::kPools));
  CHECK_FALSE(pools->deadline.has_value());  // one deadline applies to all pools
  living[1] = 1;
  CHECK_FALSE(stopping.next(living).has_value());
  living[1] = 0;
  CHECK(is(stopping.next(living), StopWay::kQuit, StopPhase::kJobs, StopPhase::kJobs));
  CHECK(is(stopping.next(living), StopWay::kQuit, StopPhase::kReceivers, StopPhase::kReceivers));
  CHECK_FALSE(stopping.next(living).has_value());
}

TEST_CASE("an immediate stop terminates the receivers after the others, with their own timeout") {
  Stopping stopping(7s);
  LivingChildren living{1, 4, 2, 1};
  REQUIRE(stopping.at_once());
  const auto first = stopping.next(living);
  CHECK(is(first, StopWay::kTerminate, StopPhase::kFronts, StopPhase::kJobs));
  CHECK(first->deadline.has_value());
  CHECK_FALSE(stopping.next(living).has_value());
  living = {0, 0, 0, 1};
  const auto second = stopping.next(living);
  CHECK(is(second, StopWay::kTerminate, StopPhase::kReceivers, StopPhase::kReceivers));
  CHECK(second->deadline.has_value());
  CHECK(stopping.time_is_up() == StopWay::kKill);
  CHECK(is(stopping.next(living), StopWay::kKill, StopPhase::kFronts, StopPhase::kReceivers));
  CHECK_FALSE(stopping.next(living).has_value());
}

TEST_CASE("services that do not end are killed before the receivers are terminated") {
  Stopping stopping(7s);
  LivingChildren living{0, 4, 0, 1};
  REQUIRE(stopping.at_once());
  CHECK(stopping.next(living).has_value());
  CHECK(stopping.time_is_up() == StopWay::kKill);
  CHECK(is(stopping.next(living), StopWay::kKill, StopPhase::kFronts, StopPhase::kJobs));
  CHECK_FALSE(stopping.next(living).has_value());
  living = {0, 0, 0, 1};
  CHECK(
      is(stopping.next(living), StopWay::kTerminate, StopPhase::kReceivers, StopPhase::kReceivers));
}

TEST_CASE("a stop may be escalated, but never moderated") {
  Stopping stopping(7s);
  const LivingChildren living{0, 4, 0, 0};
  REQUIRE(stopping.gracefully());
  CHECK_FALSE(stopping.gracefully());
  CHECK(stopping.next(living).has_value());
  CHECK(stopping.time_is_up() == StopWay::kTerminate);
  CHECK_FALSE(stopping.gracefully());
  CHECK_FALSE(stopping.at_once());
  CHECK(is(stopping.next(living), StopWay::kTerminate, StopPhase::kFronts, StopPhase::kJobs));
}

TEST_CASE("observers are stopped with the pools that they show") {
  CHECK(phase_of(ServiceKind::kObserver) == phase_of(ServiceKind::kPool));
  CHECK(phase_of(ServiceKind::kFront) < phase_of(ServiceKind::kPool));
  CHECK(phase_of(ServiceKind::kPool) < phase_of(ServiceKind::kJob));
  CHECK(phase_of(ServiceKind::kJob) < phase_of(ServiceKind::kReceiver));
}
