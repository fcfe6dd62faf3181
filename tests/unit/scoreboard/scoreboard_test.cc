#include "quarry/scoreboard/scoreboard.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <string>

#include "forked.h"

using namespace quarry::scoreboard;

namespace {

/// Updates two fields together.
void write_pair(Slot& slot, int value) {
  slot.info({"POST", std::string(200, static_cast<char>('a' + value % 26)),
             static_cast<std::uint64_t>(value % 26)});
}

/// Starts a child that updates slot 0 in a loop until it is killed.
pid_t start_busy_writer(Board& board) {
  return start_child([&] {
    Slot slot = board.slot(0);
    slot.child_started();
    for (int value = 0;; ++value) write_pair(slot, value);
  });
}

/// Returns a new scoreboard for the pool "www".
Board new_board(std::size_t slots) {
  auto board = Board::create("www", slots);
  REQUIRE(board);
  return std::move(*board);
}

}  // namespace

TEST_CASE("a reader sees each stage with its request") {
  Board board = new_board(2);
  CHECK(board.pool() == "www");
  Slot slot = board.slot(1);
  slot.child_started();
  CHECK(board.read(1).state.pid == static_cast<std::uint32_t>(::getpid()));
  slot.accepting();
  CHECK(board.read(1).state.stage == Stage::kAccepting);
  slot.accepted();
  slot.reading_headers();
  CHECK(board.read(1).state.stage == Stage::kReadingHeaders);
  slot.info({"POST", "/project/xfer", 1234});
  slot.executing("project");
  const SlotState executing = board.read(1).state;
  CHECK(executing.stage == Stage::kExecuting);
  CHECK(executing.method.view() == "POST");
  CHECK(executing.uri.view() == "/project/xfer");
  CHECK(executing.repository.view() == "project");
  CHECK(executing.content_length == 1234);
  slot.end({.user = "ann", .operation = "push"});
  slot.finished();
  const SlotState finished = board.read(1).state;
  CHECK(finished.user.view() == "ann");
  CHECK(finished.operation.view() == "push");
  CHECK(finished.requests == 1);
  slot.accepted();
  CHECK(board.read(1).state.user.view().empty());
  CHECK(board.read(0).state.stage == Stage::kNone);
}

TEST_CASE("long texts are truncated, and texts without a NUL stay inside their field") {
  Board board = new_board(1);
  Slot slot = board.slot(0);
  slot.info({"PROPFINDPROPFINDPROPFIND", std::string(5000, 'u'), 0});
  CHECK(board.read(0).state.method.view() == "PROPFINDPROPFIN");
  CHECK(board.read(0).state.uri.view().size() == 255);
  FixedText<4> text;
  std::memcpy(static_cast<void*>(&text), "abcd", 4);
  CHECK(text.view() == "abcd");
}

TEST_CASE("a reader never sees half an update while another process writes") {
  Board board = new_board(1);
  const pid_t writer = start_busy_writer(board);
  int whole = 0;
  int mixed = 0;
  // If the writer never pauses, a read can fail. The result then has `is_torn` set.
  for (int i = 0; i < 2000000 && whole < 20000; ++i) {
    const Board::Reading reading = board.read(0);
    if (reading.is_torn || reading.state.stage != Stage::kInfo) continue;
    ++whole;
    const auto letter = static_cast<char>('a' + static_cast<int>(reading.state.content_length));
    if (reading.state.uri.view() != std::string(200, letter)) ++mixed;
  }
  kill_and_wait(writer);
  CHECK(whole > 0);
  CHECK(mixed == 0);
}

TEST_CASE("a writer that is killed at any moment blocks neither readers nor the next writer") {
  Board board = new_board(1);
  for (int round = 0; round < 50; ++round) {
    const pid_t writer = start_busy_writer(board);
    ::usleep(static_cast<useconds_t>(200 + round * 37));
    kill_and_wait(writer);
    board.read(0);  // must not wait for the killed writer
    board.clear(0);
    CHECK_FALSE(board.read(0).is_torn);
    CHECK(board.read(0).state.stage == Stage::kNone);
    Slot next = board.slot(0);
    next.child_started();
    next.accepting();
    CHECK(board.read(0).state.stage == Stage::kAccepting);
  }
}

TEST_CASE("a writer that died during an update is reported as torn, and repaired by clear") {
  Board board = new_board(1);
  auto view = board.read_only();
  REQUIRE(view);
  // The slots are stored after the busiest repositories. Each slot begins with its sequence number.
  constexpr std::size_t kSlot =
      sizeof(PoolMemory) + sizeof(LeaseMemory) + sizeof(RefusalMemory) + sizeof(BusiestMemory);
  const auto memory = map_for_writing(board.fd(), kSlot + sizeof(SlotMemory));
  REQUIRE(memory);
  auto* sequence =
      reinterpret_cast<std::atomic<std::uint64_t>*>(static_cast<char*>(memory->get()) + kSlot);
  sequence->store(7);
  CHECK(view->read(0).is_torn);
  board.clear(0);
  CHECK_FALSE(view->read(0).is_torn);
}

TEST_CASE("the memory of a board cannot be resized, and its size is limited") {
  const Board board = new_board(3);
  CHECK(::ftruncate(board.fd(), 0) != 0);
  CHECK_FALSE(Board::create("many", kMaxSlots + 1));
}

TEST_CASE("slots are allocated once until freed, the last freed first") {
  SlotAllocator slots(3);
  slots.take(1);
  CHECK_FALSE(slots.is_free(1));
  CHECK_FALSE(slots.is_free(3));
  CHECK(slots.free_count() == 2);
  CHECK(slots.allocate() == 0U);
  CHECK(slots.allocate() == 2U);
  CHECK_FALSE(slots.allocate());
  slots.free(1);
  CHECK(slots.free_count() == 1);
  CHECK(slots.allocate() == 1U);
  CHECK_FALSE(slots.allocate());
}

TEST_CASE("the latest refusals of all children are listed, newest first") {
  Board board = new_board(2);
  CHECK(board.refusals().empty());
  Slot first = board.slot(0);
  Slot second = board.slot(1);
  for (std::uint64_t i = 0; i < kMaxRefusals + 3; ++i) {
    Refusal refusal{.status = static_cast<std::uint32_t>(400 + i)};
    refusal.text.assign("no");
    (i % 2 == 0 ? first : second).refused(refusal);
    // Waits until the clock advances, because refusals are sorted by time.
    for (const auto before = monotonic_micros(); monotonic_micros() == before;) continue;
  }
  const auto recent = board.refusals();
  REQUIRE(recent.size() == kMaxRefusals);
  CHECK(recent.front().status == 400 + kMaxRefusals + 2);
  CHECK(recent.back().status == 403);  // the first three were overwritten
  CHECK(recent.front().text.view() == "no");
}

TEST_CASE("a refusal that no child can have written is not listed") {
  Board board = new_board(1);
  Slot slot = board.slot(0);
  slot.refused({.status = 1000});
  slot.refused({.status = 403});
  REQUIRE(board.refusals().size() == 1);
  CHECK(board.refusals().front().status == 403);
}

TEST_CASE("only sync requests count towards the sync time") {
  Board board = new_board(1);
  Slot slot = board.slot(0);
  slot.child_started();
  for (const char* operation : {"pull", "page", "", "sync"}) {
    slot.accepted();
    slot.end({.operation = operation});
    slot.finished();
  }
  const Counters counted = board.read(0).state.counters;
  const auto sum = [](const auto& buckets) {
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
  };
  CHECK(sum(counted.durations) == 4);
  CHECK(sum(counted.sync_durations) == 2);
  CHECK(counted.sync_duration <= counted.duration);
}
