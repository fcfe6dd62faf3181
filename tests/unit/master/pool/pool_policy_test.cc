#include "pool/pool_policy.h"

#include <doctest/doctest.h>

#include <vector>

using namespace quarry::master;
using namespace std::chrono_literals;

namespace {

/// The number of busy children, and the idle time of each idle child.
struct Pool {
  std::size_t busy = 0;
  std::vector<std::chrono::milliseconds> idle_for;

  Pool(std::size_t busy_children, std::size_t idle_children)
      : busy(busy_children), idle_for(idle_children, 0ms) {}
  Pool(std::size_t busy_children, std::vector<std::chrono::milliseconds> idle)
      : busy(busy_children), idle_for(std::move(idle)) {}
  operator PoolFigures() const { return {busy + idle_for.size(), idle_for}; }
};

ProcessLimits dynamic_limits() {
  return {.manager = ProcessManager::kDynamic,
          .max_children = 50,
          .start_servers = 5,
          .min_spare_servers = 5,
          .max_spare_servers = 10};
}

}  // namespace

TEST_CASE("a static pool always has max_children") {
  const auto policy = make_policy({.manager = ProcessManager::kStatic, .max_children = 4});
  CHECK(policy->initial() == 4);
  CHECK_FALSE(policy->is_woken_by_connections());
  CHECK(policy->every_second(Pool(4, 0)).start == 0);
  CHECK(policy->after_death(Pool(1, 2)).start == 1);
  CHECK(policy->every_second(Pool(0, 0)).start == 4);
  CHECK(policy->every_second(Pool(0, 4)).stop == 0);
}

TEST_CASE("a dynamic pool starts with start_servers and replaces children that die") {
  const auto policy = make_policy(dynamic_limits());
  CHECK(policy->initial() == 5);
  CHECK_FALSE(policy->is_woken_by_connections());
  CHECK(policy->after_death(Pool(0, 4)).start == 1);
  CHECK(policy->after_death(Pool(50, 0)).start == 0);
}

TEST_CASE("a dynamic pool with too few idle children starts twice as many each second") {
  ProcessLimits limits = dynamic_limits();
  limits.min_spare_servers = 40;
  limits.max_spare_servers = 45;
  limits.max_spawn_rate = 16;
  const auto policy = make_policy(limits);
  std::vector<std::size_t> started;
  std::size_t children = 1;
  for (int second = 0; second < 6; ++second) {
    const Decision decision = policy->every_second(Pool(1, children - 1));
    started.push_back(decision.start);
    children += decision.start;
    CHECK((decision.advice == Advice::kBusy) == (second >= 3));
  }
  // At most 16 children are started per second. The last start only fills the pool up to the
  // minimum.
  CHECK(started == std::vector<std::size_t>{1, 2, 4, 8, 16, 9});
  CHECK(policy->every_second(Pool(1, 40)).start == 0);
  CHECK_MESSAGE(policy->every_second(Pool(1, 38)).start == 1, "a quiet second ends the doubling");
}

TEST_CASE("a dynamic pool never exceeds max_children, and reports when it needs more") {
  const auto policy = make_policy(dynamic_limits());
  for (int second = 0; second < 5; ++second) policy->every_second(Pool(45, 0));
  CHECK(policy->every_second(Pool(48, 0)).start == 2);
  const Decision full = policy->every_second(Pool(50, 0));
  CHECK(full.start == 0);
  CHECK(full.advice == Advice::kMaxChildrenReached);
  CHECK(policy->every_second(Pool(45, 5)).advice == Advice::kNone);
}

TEST_CASE("a dynamic pool ends one idle child per second above max_spare_servers") {
  const auto policy = make_policy(dynamic_limits());
  CHECK(policy->every_second(Pool(3, 10)).stop == 0);
  CHECK(policy->every_second(Pool(3, 11)).stop == 1);
  CHECK(policy->every_second(Pool(0, 50)).stop == 1);
}

TEST_CASE("an ondemand pool starts a child when a connection waits and no child is idle") {
  const auto policy = make_policy({.manager = ProcessManager::kOndemand, .max_children = 2});
  CHECK(policy->initial() == 0);
  CHECK(policy->is_woken_by_connections());
  CHECK(policy->on_connection(Pool(0, 0)).start == 1);
  CHECK(policy->on_connection(Pool(0, 1)).start == 0);
  CHECK(policy->on_connection(Pool(1, 0)).start == 1);
  const Decision full = policy->on_connection(Pool(2, 0));
  CHECK(full.start == 0);
  CHECK(full.advice == Advice::kMaxChildrenReached);
  CHECK(policy->after_death(Pool(0, 0)).start == 0);
  CHECK(policy->every_second(Pool(0, 0)).start == 0);
}

TEST_CASE("an ondemand pool counts as full until it has fewer children, or an idle one") {
  const auto policy = make_policy({.manager = ProcessManager::kOndemand, .max_children = 2});
  policy->on_connection(Pool(2, 0));
  CHECK(policy->every_second(Pool(2, 0)).advice == Advice::kMaxChildrenReached);
  CHECK_MESSAGE(policy->every_second(Pool(1, {1900ms})).advice == Advice::kMaxChildrenReached,
                "it may only be starting");
  CHECK(policy->on_connection(Pool(1, {0ms})).advice == Advice::kMaxChildrenReached);
  CHECK(policy->after_death(Pool(1, 0)).advice == Advice::kMaxChildrenReached);
  CHECK(policy->every_second(Pool(1, {2000ms})).advice == Advice::kNone);
  policy->on_connection(Pool(2, 0));
  CHECK(policy->every_second(Pool(1, 0)).advice == Advice::kNone);
}

TEST_CASE("an ondemand pool ends all children that were idle for process_idle_timeout") {
  const auto policy = make_policy(
      {.manager = ProcessManager::kOndemand, .max_children = 9, .process_idle_timeout = 10s});
  CHECK(policy->every_second(Pool(2, {20s, 10s, 9999ms, 0ms})).stop == 2);
  CHECK(policy->every_second(Pool(2, {9999ms})).stop == 0);
}
