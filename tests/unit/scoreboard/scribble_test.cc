// Tests readers of a scoreboard while a worker overwrites all of it.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <span>

#include "forked.h"
#include "quarry/scoreboard/snapshot.h"
#include "quarry/scoreboard/status.h"

using namespace quarry::scoreboard;

namespace {

constexpr std::size_t kSlots = 20;
#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t kPause = 300;  // microseconds
#else
constexpr std::int64_t kPause = 10;
#endif

PoolState some_state() {
  PoolState state;
  state.started = wall_micros();
  state.limits.process_manager.assign("static");
  state.limits.max_children = kSlots;
  state.children = kSlots;
  state.past.accepted = state.past.requests = 1000;
  return state;
}

/// Maps the whole memory of BOARD for writing.
Mapping raw_memory(const Board& board) {
  struct stat status {};
  REQUIRE(::fstat(board.fd(), &status) == 0);
  auto memory = map_for_writing(board.fd(), static_cast<std::size_t>(status.st_size));
  REQUIRE(memory);
  return std::move(*memory);
}

/// Starts a child that repeatedly fills the scoreboard with random bytes until it is killed.
pid_t start_scribbler(const Board& board) {
  return start_child([&] {
    const Mapping memory = raw_memory(board);
    const std::span words(static_cast<std::uint64_t*>(memory.get()),
                          memory.get_deleter().size / sizeof(std::uint64_t));
    std::mt19937_64 random(7);
    for (;;) {
      for (auto& word : words) std::atomic_ref(word).store(random(), std::memory_order_relaxed);
    }
  });
}

}  // namespace

TEST_CASE(
    "while a child fills the board with random bytes, every page is well-formed and reports it") {
  auto board = Board::create("www", kSlots);
  REQUIRE(board);
  board->publish(some_state());
  const pid_t scribbler = start_scribbler(*board);
  bool was_unreadable = false;
  for (int i = 0; i < 300; ++i) {
    const PoolSnapshot snapshot = take_snapshot(*board, {});
    if (snapshot.unreadable > 0) was_unreadable = true;
    for (const SlotState& process : snapshot.processes) {
      CHECK(process.stage <= Stage::kFinished);
      CHECK(process.counters.is_plausible());
    }
    CHECK(snapshot.state.limits.max_children == kSlots);
    CHECK(snapshot.totals.accepted >= 1000);
    CHECK(snapshot.pool == "www");
    for (const char* query : {"full", "xml&full", "html&full", "openmetrics"}) {
      CHECK(status_page(snapshot, parse_status_query(query)).size() > 100);
    }
    const std::string page = status_page(snapshot, parse_status_query("json&full"));
    CHECK(nlohmann::json::parse(page)["pool"] == "www");
  }
  kill_and_wait(scribbler);
  CHECK(was_unreadable);
}

TEST_CASE("the next writes of the master and the children repair a corrupt board") {
  auto board = Board::create("www", 2);
  REQUIRE(board);
  PoolState state = some_state();
  board->publish(state);
  Slot slot = board->slot(0);
  slot.child_started();
  auto view = board->read_only();
  REQUIRE(view);
  const Mapping memory = raw_memory(*board);
  std::memset(memory.get(), 0xA5, memory.get_deleter().size);
  CHECK(board->read(0).is_garbage);
  CHECK(board->read_pool().is_old);

  state.slow_requests = 3;
  board->publish(state);
  slot.accepting();
  board->clear(1);
  CHECK_FALSE(view->read_pool().is_old);
  CHECK(view->read_pool().state.slow_requests == 3);
  CHECK(view->read(0).state.stage == Stage::kAccepting);
  CHECK(view->read(0).state.pid == static_cast<std::uint32_t>(::getpid()));
  CHECK(take_snapshot(*view, {}).unreadable == 0);
}

TEST_CASE("invalid stages and impossible figures are rejected, one by one") {
  const auto breaks = [](auto change) {
    SlotState state;
    state.pid = 1;
    state.stage = Stage::kAccepting;
    CHECK(state.is_sound());
    change(state);
    return !state.is_sound();
  };
  CHECK(breaks([](SlotState& s) { s.stage = static_cast<Stage>(8); }));
  CHECK(breaks([](SlotState& s) { s.pid = UINT32_MAX; }));
  CHECK(breaks([](SlotState& s) { s.child_started = INT64_MAX; }));
  CHECK(breaks([](SlotState& s) { s.stage_since = -1; }));
  CHECK(breaks([](SlotState& s) { s.request_started = INT64_MAX; }));
  CHECK(breaks([](SlotState& s) { s.request_duration = -1; }));
  CHECK(breaks([](SlotState& s) { s.request_cpu = UINT64_MAX; }));
  CHECK(breaks([](SlotState& s) { s.peak_memory = UINT64_MAX; }));
  CHECK(breaks([](SlotState& s) { s.counters.clones = 10; }));
  PoolState pool;
  CHECK_FALSE(pool.is_sound());
  CHECK(some_state().is_sound());
}

TEST_CASE("a write to a read-only board faults") {
  auto board = Board::create("www", 1);
  REQUIRE(board);
  auto view = board->read_only();
  REQUIRE(view);
  const pid_t pid = start_child([&] {
    ::signal(SIGSEGV, [](int) { ::_exit(42); });
    view->slot(0).accepting();
  });
  CHECK(WEXITSTATUS(status_of(pid)) == 42);
}

TEST_CASE("a reader counts a child once while it is being reaped") {
  auto board = Board::create("www", 1);
  REQUIRE(board);
  PoolState state = some_state();
  state.past = {};
  board->publish(state);
  const pid_t reaper = start_child([&] {
    for (;;) {
      Slot slot = board->slot(0);
      slot.child_started();
      slot.accepted();
      slot.end({});
      slot.finished();
      state.past.add(board->read(0).state.counters);
      board->retire(0, state);
      // The pause is longer than a snapshot takes, so some snapshots are consistent.
      for (const auto end = monotonic_micros() + kPause; monotonic_micros() < end;) continue;
    }
  });
  std::uint64_t last = 0;
  int exact = 0;
  int backwards = 0;
  for (int i = 0; i < 1'000'000 && exact < 20'000; ++i) {
    const PoolSnapshot snapshot = take_snapshot(*board, {});
    // If the reaper is preempted during an update, the reader does not wait for it, and the
    // snapshot is not exact.
    if (!snapshot.is_exact) continue;
    ++exact;
    if (snapshot.totals.requests < last) ++backwards;
    last = snapshot.totals.requests;
  }
  kill_and_wait(reaper);
  CHECK(last > 0);
  CHECK(backwards == 0);
  CHECK(exact == 20'000);
}
