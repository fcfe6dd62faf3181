#include "site/pool_log_gate.h"

#include <doctest/doctest.h>

#include <future>

#include "quarry/scoreboard/scoreboard.h"

using namespace quarry::worker;
using quarry::scoreboard::Board;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

Board new_board() {
  auto board = Board::create("gate", 2);
  REQUIRE(board);
  return std::move(*board);
}

constexpr milliseconds kNoPause{0};

}  // namespace

TEST_CASE(
    "who comes to a closed gate passes when it is opened, and who wants another file at once") {
  const Board board = new_board();
  PoolLogGate closer(board.leases());
  PoolLogGate passer(board.leases(), std::chrono::minutes(1));
  REQUIRE(closer.close(1, milliseconds(10000)));
  CHECK_FALSE(passer.close(1, milliseconds(5000)));
  passer.pass(2);
  auto passed = std::async(std::launch::async, [&] { passer.pass(1); });
  CHECK(passed.wait_for(milliseconds(50)) == std::future_status::timeout);
  closer.open(1, kNoPause);
  passed.get();
  CHECK(passer.close(1, milliseconds(5000)));
}

TEST_CASE("a gate whose closer is gone holds up nobody for long") {
  const Board board = new_board();
  // Whatever deadline it has.
  REQUIRE(board.leases().take(1, std::chrono::hours(1)));
  const auto began = steady_clock::now();
  PoolLogGate(board.leases()).pass(1);
  CHECK(steady_clock::now() - began < std::chrono::minutes(1));
}

TEST_CASE("a gate that was closed in vain stays open for a while, for all the pool") {
  const Board board = new_board();
  PoolLogGate one(board.leases());
  PoolLogGate other(board.leases());
  REQUIRE(one.close(1, milliseconds(5000)));
  one.open(1, milliseconds(9000));
  other.pass(1);
  CHECK_FALSE(one.close(1, milliseconds(5000)));
  CHECK_FALSE(other.close(1, milliseconds(5000)));
  CHECK(other.close(2, milliseconds(5000)));
}
