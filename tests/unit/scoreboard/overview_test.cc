#include "quarry/scoreboard/overview.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

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

/// The exit code of a child that has done WHAT; -1: a signal has ended it.
template <typename What>
int in_child(What what) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(what());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("published pools are visible to children that were forked before") {
  auto overview = Overview::create(3);
  REQUIRE(overview);
  CHECK((*overview)->read().empty());
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    char go = 0;
    const bool is_told = ::read(ends[0], &go, 1) == 1;
    const auto all = (*overview)->read();
    const bool is_right = all.size() == 2 && all[0].pool.view() == "www" &&
                          all[0].stages.view() == "51" && all[0].totals.requests == 42 &&
                          all[1].pool.view() == "two" && all[1].state.generation == 3;
    ::_exit(is_told && is_right ? 0 : 1);
  }
  (*overview)->publish(0, snapshot_of("www", 2), {});
  (*overview)->publish(2, snapshot_of("two", 1), {});
  REQUIRE(::write(ends[1], "x", 1) == 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a child cannot publish") {
  auto overview = Overview::create(1);
  REQUIRE(overview);
  (*overview)->publish(0, snapshot_of("www", 2), {});
  const int code = in_child([&] {
    (*overview)->publish(0, snapshot_of("evil", 1), {});
    return (*overview)->read().front().pool.view() == "www" ? 0 : 1;
  });
  CHECK(code == 0);
  CHECK((*overview)->read().front().pool.view() == "www");
}

TEST_CASE("stages of too many children are truncated, but counted") {
  const auto overview = overview_of(snapshot_of("www", PoolOverview::kMaxStages + 100), {});
  CHECK(overview.stages.view().size() == PoolOverview::kMaxStages);
  CHECK(overview.children == PoolOverview::kMaxStages + 100);
}
