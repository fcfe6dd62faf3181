#include "pool/pool_watch.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

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
  /// Overwrites the whole scoreboard, as a malicious child could.
  void overwrite(int byte) const {
    struct stat status {};
    REQUIRE(::fstat(board_.fd(), &status) == 0);
    const auto size = static_cast<std::size_t>(status.st_size);
    std::memset(quarry::scoreboard::map_for_writing(board_.fd(), size)->get(), byte, size);
  }
  /// Simulates a request in SLOT. If FINISHED is false, the request does not end.
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

TEST_CASE_FIXTURE(WatchWorld, "the board shows limits and what happens to children") {
  CHECK(published().limits.process_manager.view() == "dynamic");
  CHECK(published().limits.min_spare_servers == 1);
  CHECK(published().started > 0);
  watch.child_started(1);
  CHECK(published().children == 1);
  watch.max_children_reached();
  watch.slow_request();
  watch.slow_request();
  CHECK(published().max_children_reached == 1);
  for (const std::size_t children : {2U, 1U, 0U, 0U, 3U}) watch.held_back(children);
  CHECK(published().held_back == 3);
  CHECK(published().process_max_reached == 2);
  CHECK(published().slow_requests == 2);
  watch.backed_off("a child exited with code 9", 5s);
  CHECK(published().restarts_backed_off == 1);
  CHECK(published().backoff_reason.view() == "a child exited with code 9");
  CHECK(published().next_start > quarry::scoreboard::wall_micros());
  watch.child_started(2);
  CHECK(published().next_start == 0);
}

TEST_CASE_FIXTURE(WatchWorld,
                  "the figures of a child that has ended are kept, and its slot is cleared") {
  watch.child_started(1);
  for (int i = 1; i <= 3; ++i) {
    request(1);
    watch.child_ended(1, 0);
    CHECK(published().past.clones == static_cast<std::uint64_t>(i));
    CHECK(published().past.artifacts_out == static_cast<std::uint64_t>(7 * i));
    CHECK(board().read(1).state.pid == 0);
  }
  request(2, false);
  watch.child_ended(2, 0);
  CHECK(published().past.accepted == 4);
  CHECK(published().past.requests == 3);
  CHECK(published().children == 0);
}

TEST_CASE_FIXTURE(WatchWorld, "the peak of active children is found by polling") {
  watch.child_started(3);
  request(0, false);
  request(1, false);
  request(2);
  refresh();
  CHECK(published().max_active == 2);
  watch.child_ended(0, 2);
  refresh();
  CHECK(published().max_active == 2);
}

TEST_CASE_FIXTURE(WatchWorld,
                  "a child that overwrites the board does not change the master's own figures") {
  watch.child_started(2);
  request(0);
  watch.child_ended(0, 1);
  watch.slow_request();
  overwrite(0xEE);
  refresh();
  CHECK(published().slow_requests == 1);
  CHECK(published().past.clones == 1);
  CHECK(published().max_active == 0);
  // After a child's death, the master must ignore its overwritten slot.
  overwrite(0xEE);
  watch.child_ended(1, 0);
  CHECK(published().past.requests == 1);
  CHECK(board().pool() == "pool www");
}

TEST_CASE_FIXTURE(WatchWorld,
                  "a pool continues the previous master's counters, with its own new limits") {
  watch.child_started(2);
  request(0);
  watch.child_ended(0, 1);
  watch.slow_request();
  watch.backed_off("a child exited with code 9", 5s);
  watch.job_started();
  PoolState former = watch.state();
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
  CHECK(published.backoffice_runs == 1);
  CHECK(published.max_active == 3);
  CHECK(published.generation == 2);
  CHECK(published.limits.process_manager.view() == "static");
  CHECK(published.limits.max_children == 2);
  CHECK(published.limits.min_spare_servers == 0);
  CHECK(published.children == 0);
  CHECK(published.next_start == 0);
}

TEST_CASE_FIXTURE(WatchWorld,
                  "a previous child counts as active, and its figures are kept when it has ended") {
  watch.child_started(1);
  watch.previous_children(1);
  request(0, false);
  request(2, false);
  refresh();
  CHECK(published().max_active == 2);
  request(2);
  watch.previous_child_ended(2, 0);
  CHECK(published().previous_children == 0);
  CHECK(published().children == 1);
  CHECK(published().past.clones == 1);
  CHECK(board().read(2).state.pid == 0);
}

TEST_CASE_FIXTURE(WatchWorld,
                  "an unused slot is cleared at the next refresh, whatever was written there") {
  watch.child_started(1);
  request(0, false);
  board().slot(1).child_started();
  board().slot(2).child_started();
  CHECK(board().read(1).state.pid != 0);
  refresh();
  CHECK(board().read(0).state.pid != 0);
  CHECK(board().read(1).state.pid == 0);
  CHECK(board().read(2).state.pid == 0);
  CHECK(published().max_active == 1);
  overwrite(0xA5);
  CHECK(board().read(1).is_garbage);
  refresh();
  CHECK(board().read(0).is_garbage);
  CHECK_FALSE(board().read(1).is_garbage);
}

TEST_CASE_FIXTURE(WatchWorld, "a pool's jobs are counted") {
  watch.job_started();
  watch.job_started();
  watch.job_delayed();
  CHECK(published().backoffice_runs == 2);
  CHECK(published().backoffice_delayed == 1);
  CHECK(published().backoffice_ended == 0);
  watch.job_ended(std::chrono::milliseconds(30), "was killed by signal 9");
  CHECK(published().backoffice_outcome.view() == "was killed by signal 9");
  watch.job_ended(std::chrono::milliseconds(20), "");
  CHECK(published().backoffice_failures == 1);
  CHECK(published().backoffice_ended > 0);
  CHECK(published().backoffice_took == 20'000);
  CHECK(published().backoffice_outcome.view() == "done");
}
