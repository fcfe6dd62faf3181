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
  auto overview = Overview::create({.pools = 3});
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

TEST_CASE("readers of an earlier overview read what is published in its memory later") {
  const Overview::Sizes sizes{.pools = 2, .jobs = 1, .peers = 2};
  const Overview::Sizes others{.pools = 2, .jobs = 2, .peers = 2};
  const auto earlier = *Overview::create(sizes);
  const auto other = *Overview::create(others, quarry::base::Fd(::dup(earlier->fd())));
  const auto later = *Overview::create(sizes, quarry::base::Fd(::dup(earlier->fd())));
  earlier->publish(0, snapshot_of("www", 2), {});
  earlier->publish_jobs(0, "peers www", {});
  CHECK(later->read().size() == 1);
  other->publish(0, snapshot_of("other", 1), {});
  later->publish(0, snapshot_of("new", 1), {});
  CHECK(earlier->read().front().pool.view() == "new");
  CHECK(other->read().front().pool.view() == "other");
  CHECK(earlier->read_jobs().size() == 1);
  later->publish_jobs(0, "", {});
  CHECK(earlier->read_jobs().empty());
  quarry::scoreboard::PeerOverview peer{.received = 3, .sent = 4, .failures = 1};
  peer.name.assign("mirror");
  later->publish_peer(1, peer);
  const auto peers = earlier->read_peers();
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].name.view() == "");
  CHECK(peers[1].name.view() == "mirror");
  CHECK(peers[1].sent == 4);
  CHECK(earlier->read().size() == 1);
}

TEST_CASE("a child cannot publish") {
  auto overview = Overview::create({.pools = 1});
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
