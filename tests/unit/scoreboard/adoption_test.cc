// Tests how the next master adopts a scoreboard, whose layout the previous master reports.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "quarry/scoreboard/snapshot.h"

using namespace quarry::scoreboard;
using quarry::base::ErrorCode;
using quarry::base::Fd;

namespace {

Board some_board(std::size_t slots = 3) {
  auto board = Board::create("pool www", slots);
  REQUIRE(board);
  return std::move(*board);
}

Fd again(const Board& board) {
  return Fd(::dup(board.fd()));
}

std::size_t size_of(const Board& board) {
  struct stat status {};
  REQUIRE(::fstat(board.fd(), &status) == 0);
  return static_cast<std::size_t>(status.st_size);
}

PoolState adopted_state() {
  PoolState state;
  state.started = wall_micros();
  state.limits.process_manager.assign("static");
  state.past.accepted = state.past.requests = 10;
  return state;
}

void fill(const Board& board, int byte) {
  std::memset(map_for_writing(board.fd(), size_of(board))->get(), byte, size_of(board));
}

}  // namespace

TEST_CASE("an adopted board shows what its writers write") {
  Board board = some_board();
  Slot old = board.slot(1);
  old.child_started();
  auto adopted = Board::adopt(again(board), board.layout(), "pool www");
  REQUIRE(adopted);
  CHECK(adopted->slot_count() == 3);
  CHECK(adopted->pool() == "pool www");
  CHECK(adopted->layout() == board.layout());
  old.accepted();
  old.info({.method = "POST", .uri = "/xfer"});
  adopted->publish(adopted_state());
  CHECK(adopted->read(1).state.uri.view() == "/xfer");
  const auto view = adopted->read_only();
  REQUIRE(view);
  const PoolSnapshot snapshot = take_snapshot(*view, {});
  REQUIRE(snapshot.processes.size() == 1);
  CHECK(snapshot.active == 1);
  CHECK(snapshot.totals.accepted == 11);
}

TEST_CASE("a corrupt board can be adopted") {
  for (const int byte : {0x00, 0x01, 0xA5, 0xFF}) {
    Board board = some_board();
    const BoardLayout layout = board.layout();
    fill(board, byte);
    auto adopted = Board::adopt(again(board), layout, "pool www");
    REQUIRE(adopted);
    CHECK(adopted->slot_count() == 3);
    CHECK(adopted->pool() == "pool www");
    for (std::size_t i = 0; i < 3; ++i) CHECK(adopted->read(i).state.pid == 0);
    adopted->publish(adopted_state());
    adopted->clear(0);
    adopted->slot(0).child_started();
    CHECK(adopted->read(0).state.pid == static_cast<std::uint32_t>(::getpid()));
    CHECK(take_snapshot(*adopted, {}).totals.accepted == 10);
  }
}

TEST_CASE("a board of another layout is not adopted") {
  const Board board = some_board();
  const auto refused = [&](auto change) {
    BoardLayout layout = board.layout();
    change(layout);
    const auto adopted = Board::adopt(again(board), layout, "pool www");
    return !adopted && adopted.error().code == ErrorCode::kInvalid;
  };
  CHECK_FALSE(refused([](BoardLayout&) {}));
  CHECK(refused([](BoardLayout& l) { ++l.version; }));
  CHECK(refused([](BoardLayout& l) { l.slot_size += 64; }));
  CHECK(refused([](BoardLayout& l) { l.pool_size -= 8; }));
  CHECK(refused([](BoardLayout& l) { l.slots = 4; }));
  CHECK(refused([](BoardLayout& l) { l.slots = 2; }));
  CHECK(refused([](BoardLayout& l) { l.slots = 0; }));
  CHECK(refused([](BoardLayout& l) { l.slots = UINT64_MAX; }));
}

TEST_CASE("memory that is not sealed, or not there, is not a board") {
  const Board board = some_board();
  Fd unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.get(), static_cast<off_t>(size_of(board))) == 0);
  CHECK_FALSE(Board::adopt(std::move(unsealed), board.layout(), "pool www"));
  CHECK_FALSE(Board::adopt(Fd(::open("/dev/null", O_RDWR)), board.layout(), "pool www"));
  CHECK_FALSE(Board::adopt(Fd(), board.layout(), "pool www"));
}

TEST_CASE("a board without slots keeps a pool's figures") {
  Board board = some_board(0);
  board.publish(adopted_state());
  const auto adopted = Board::adopt(again(board), board.layout(), "pool www");
  REQUIRE(adopted);
  CHECK(adopted->slot_count() == 0);
  CHECK(adopted->read_pool().state.past.requests == 10);
}
