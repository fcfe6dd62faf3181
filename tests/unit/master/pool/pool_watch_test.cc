#include "pool/pool_watch.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

using namespace quarry::master;
using namespace std::chrono_literals;
using quarry::scoreboard::Board;
using quarry::scoreboard::PoolState;
using quarry::scoreboard::SlotAllocator;

namespace {

class WatchWorld {
 public:
  WatchWorld() : board_(*Board::create("pool www", 3)) {
    Service service;
    service.processes.manager = ProcessManager::kDynamic;
    service.processes.max_children = 3;
    service.processes.min_spare_servers = 1;
    watch.begin(board_, service, 1);
  }
  PoolState published() const {
    const auto reading = board_.read_only()->read_pool();
    CHECK_FALSE(reading.is_old);
    return reading.state;
  }
  Board& board() { return board_; }
  void refresh() { watch.refresh(slots); }
  /// One request of a child in SLOT, which stays in its midst if it is not FINISHED.
  void request(std::size_t slot, bool finished = true) {
    if (slots.is_free(slot)) slots.take(slot);
    auto child = board_.slot(slot);
    child.child_started();
    child.accepted();
    if (!finished) return;
    child.end({.operation = "clone", .reply_size = 100, .artifacts_out = 7});
    child.finished();
    child.accepting();
  }

 private:
  Board board_;

 public:
  PoolWatch watch;
  SlotAllocator slots{3};
};

}  // namespace

TEST_CASE("the board shows limits and what happens to children") {
  WatchWorld world;
  CHECK(world.published().limits.process_manager.view() == "dynamic");
  CHECK(world.published().limits.min_spare_servers == 1);
  CHECK(world.published().started > 0);
  world.watch.child_started(1);
  CHECK(world.published().children == 1);
  world.watch.max_children_reached();
  world.watch.slow_request();
  world.watch.slow_request();
  CHECK(world.published().max_children_reached == 1);
  for (const std::size_t children : {2U, 1U, 0U, 0U, 3U}) world.watch.held_back(children);
  CHECK(world.published().held_back == 3);
  CHECK(world.published().process_max_reached == 2);
  CHECK(world.published().slow_requests == 2);
  world.watch.backed_off("a child exited with code 9", 5s);
  CHECK(world.published().restarts_backed_off == 1);
  CHECK(world.published().backoff_reason.view() == "a child exited with code 9");
  CHECK(world.published().next_start > quarry::scoreboard::wall_micros());
  world.watch.child_started(2);
  CHECK(world.published().next_start == 0);
}

TEST_CASE("the figures of a child that has ended are kept, and its slot is cleared") {
  WatchWorld world;
  world.watch.child_started(1);
  for (int i = 1; i <= 3; ++i) {
    world.request(1);
    world.watch.child_ended(1, 0);
    CHECK(world.published().past.clones == static_cast<std::uint64_t>(i));
    CHECK(world.published().past.artifacts_out == static_cast<std::uint64_t>(7 * i));
    CHECK(world.board().read(1).state.pid == 0);
  }
  world.request(2, false);
  world.watch.child_ended(2, 0);
  CHECK(world.published().past.accepted == 4);
  CHECK(world.published().past.requests == 3);
  CHECK(world.published().children == 0);
}

TEST_CASE("the peak of active children is found by polling") {
  WatchWorld world;
  world.watch.child_started(3);
  world.request(0, false);
  world.request(1, false);
  world.request(2);
  world.refresh();
  CHECK(world.published().max_active == 2);
  world.watch.child_ended(0, 2);
  world.refresh();
  CHECK(world.published().max_active == 2);
}

TEST_CASE("a child that overwrites the board does not change the master's own figures") {
  WatchWorld world;
  world.watch.child_started(2);
  world.request(0);
  world.watch.child_ended(0, 1);
  world.watch.slow_request();
  const std::size_t size = 4096;
  void* raw = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, world.board().fd(), 0);
  REQUIRE(raw != MAP_FAILED);
  std::memset(raw, 0xEE, size);
  world.refresh();
  CHECK(world.published().slow_requests == 1);
  CHECK(world.published().past.clones == 1);
  CHECK(world.published().max_active == 0);
  // Not believed when it dies, either.
  std::memset(raw, 0xEE, size);
  world.watch.child_ended(1, 0);
  CHECK(world.published().past.requests == 1);
  CHECK(world.board().pool() == "pool www");
  ::munmap(raw, size);
}

TEST_CASE("a pool continues the previous master's counters, with its own new limits") {
  WatchWorld world;
  world.watch.child_started(2);
  world.request(0);
  world.watch.child_ended(0, 1);
  world.watch.slow_request();
  world.watch.backed_off("a child exited with code 9", 5s);
  PoolState former = world.watch.state();
  former.max_active = 3;
  former.started -= 1'000'000;
  Board board = *Board::create("pool www", 8);
  Service service;
  service.processes.manager = ProcessManager::kStatic;
  service.processes.max_children = 2;
  PoolWatch next;
  next.begin(board, service, 2, &former);
  const PoolState published = board.read_pool().state;
  CHECK(published.started == former.started);
  CHECK(published.past.clones == 1);
  CHECK(published.slow_requests == 1);
  CHECK(published.restarts_backed_off == 1);
  CHECK(published.max_active == 3);
  CHECK(published.generation == 2);
  CHECK(published.limits.process_manager.view() == "static");
  CHECK(published.limits.max_children == 2);
  CHECK(published.limits.min_spare_servers == 0);
  CHECK(published.children == 0);
  CHECK(published.next_start == 0);
}

TEST_CASE("a previous child counts as active, and its figures are kept when it has ended") {
  WatchWorld world;
  world.watch.child_started(1);
  world.watch.previous_children(1);
  world.request(0, false);
  world.request(2, false);
  world.refresh();
  CHECK(world.published().max_active == 2);
  world.request(2);
  world.watch.previous_child_ended(2, 0);
  CHECK(world.published().previous_children == 0);
  CHECK(world.published().children == 1);
  CHECK(world.published().past.clones == 1);
  CHECK(world.board().read(2).state.pid == 0);
}

TEST_CASE("an unused slot is cleared at the next refresh, whatever was written there") {
  WatchWorld world;
  world.watch.child_started(1);
  world.request(0, false);
  world.board().slot(1).child_started();
  world.board().slot(2).child_started();
  CHECK(world.board().read(1).state.pid != 0);
  world.refresh();
  CHECK(world.board().read(0).state.pid != 0);
  CHECK(world.board().read(1).state.pid == 0);
  CHECK(world.board().read(2).state.pid == 0);
  CHECK(world.published().max_active == 1);
  struct stat status {};
  REQUIRE(::fstat(world.board().fd(), &status) == 0);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* raw = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, world.board().fd(), 0);
  REQUIRE(raw != MAP_FAILED);
  std::memset(raw, 0xA5, size);
  ::munmap(raw, size);
  CHECK(world.board().read(1).is_garbage);
  world.refresh();
  CHECK(world.board().read(0).is_garbage);
  CHECK_FALSE(world.board().read(1).is_garbage);
}

TEST_CASE("a pool's jobs are counted, also across a reload") {
  WatchWorld world;
  world.watch.job_started();
  world.watch.job_started();
  world.watch.job_delayed();
  CHECK(world.published().backoffice_runs == 2);
  CHECK(world.published().backoffice_delayed == 1);
  CHECK(world.published().backoffice_ended == 0);
  world.watch.job_ended(std::chrono::milliseconds(30), "was ended by signal 9");
  CHECK(world.published().backoffice_outcome.view() == "was ended by signal 9");
  world.watch.job_ended(std::chrono::milliseconds(20), "");
  CHECK(world.published().backoffice_failures == 1);
  CHECK(world.published().backoffice_ended > 0);
  CHECK(world.published().backoffice_took == 20'000);
  CHECK(world.published().backoffice_outcome.view() == "done");
  const PoolState former = world.published();
  Service service;
  auto board = *Board::create("pool www", 3);
  PoolWatch watch;
  watch.begin(board, service, 2, &former);
  watch.job_started();
  CHECK(watch.state().backoffice_runs == 3);
}
