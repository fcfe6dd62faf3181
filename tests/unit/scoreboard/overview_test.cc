#include "quarry/scoreboard/overview.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

#include "forked.h"
#include "quarry/base/pipe.h"

using namespace quarry::scoreboard;

namespace {

PoolSnapshot snapshot_of(const std::string& pool, std::size_t children) {
  PoolSnapshot snapshot;
  snapshot.pool = pool;
  snapshot.monotonic_now = monotonic_micros();
  snapshot.active = 1;
  snapshot.state.generation = 3;
  snapshot.totals.requests = 42;
  for (std::size_t i = 0; i < children; ++i) {
    SlotState child;
    child.pid = static_cast<std::uint32_t>(i + 1);
    child.stage = i == 0 ? Stage::kExecuting : Stage::kAccepting;
    snapshot.processes.push_back(child);
  }
  return snapshot;
}

}  // namespace

TEST_CASE("published pools are visible to children that were forked before") {
  auto overview = Overview::create(3, 0);
  REQUIRE(overview);
  CHECK((*overview)->read().empty());
  auto pipe = quarry::base::make_pipe();
  REQUIRE(pipe);
  const pid_t pid = start_child([&] {
    char go = 0;
    const bool is_published = ::read(pipe->reading.get(), &go, 1) == 1;
    const auto all = (*overview)->read();
    const bool is_right = all.size() == 2 && all[0].pool.view() == "www" &&
                          all[0].stages.view() == "51" && all[0].totals.requests == 42 &&
                          all[1].pool.view() == "two" && all[1].state.generation == 3;
    if (!is_published || !is_right) ::_exit(1);
  });
  (*overview)->publish(0, snapshot_of("www", 2), {});
  (*overview)->publish(2, snapshot_of("two", 1), {});
  REQUIRE(::write(pipe->writing.get(), "x", 1) == 1);
  CHECK(status_of(pid) == 0);
}

TEST_CASE("a child cannot publish") {
  auto overview = Overview::create(1, 0);
  REQUIRE(overview);
  (*overview)->publish(0, snapshot_of("www", 2), {});
  const pid_t pid = start_child([&] {
    (*overview)->publish(0, snapshot_of("evil", 1), {});
    if ((*overview)->read().front().pool.view() != "www") ::_exit(1);
  });
  CHECK(status_of(pid) == 0);
  CHECK((*overview)->read().front().pool.view() == "www");
}

TEST_CASE("stages of too many children are truncated, but counted") {
  const auto overview = overview_of(snapshot_of("www", PoolOverview::kMaxStages + 100), {});
  CHECK(overview.stages.view().size() == PoolOverview::kMaxStages);
  CHECK(overview.children == PoolOverview::kMaxStages + 100);
}
