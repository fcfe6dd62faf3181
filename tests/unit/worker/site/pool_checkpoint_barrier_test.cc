#include "site/pool_checkpoint_barrier.h"

#include <doctest/doctest.h>

#include <future>

#include "quarry/scoreboard/scoreboard.h"

using namespace quarry::worker;
using quarry::scoreboard::Board;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

Board new_board() {
  auto board = Board::create("barrier", 2);
  REQUIRE(board);
  return std::move(*board);
}

constexpr milliseconds kNoPause{0};

}  // namespace

TEST_CASE("a raised barrier holds back users of its file until it is lowered, and of no other") {
  const Board board = new_board();
  PoolCheckpointBarrier raiser(board.leases());
  PoolCheckpointBarrier waiter(board.leases(), std::chrono::minutes(1));
  REQUIRE(raiser.raise(1, milliseconds(10000)));
  CHECK_FALSE(waiter.raise(1, milliseconds(5000)));
  waiter.wait(2);
  auto done = std::async(std::launch::async, [&] { waiter.wait(1); });
  CHECK(done.wait_for(milliseconds(50)) == std::future_status::timeout);
  raiser.lower(1, kNoPause);
  done.get();
  CHECK(waiter.raise(1, milliseconds(5000)));
}

TEST_CASE("a barrier whose raiser has died does not block others for long") {
  const Board board = new_board();
  // The wait must end long before this lease expires.
  REQUIRE(board.leases().take(1, std::chrono::hours(1)));
  const auto began = steady_clock::now();
  PoolCheckpointBarrier(board.leases()).wait(1);
  CHECK(steady_clock::now() - began < std::chrono::minutes(1));
}

TEST_CASE(
    "after a checkpoint that failed no worker of the pool can raise the barrier for a while") {
  const Board board = new_board();
  PoolCheckpointBarrier one(board.leases());
  PoolCheckpointBarrier other(board.leases());
  REQUIRE(one.raise(1, milliseconds(5000)));
  one.lower(1, milliseconds(9000));
  other.wait(1);
  CHECK_FALSE(one.raise(1, milliseconds(5000)));
  CHECK_FALSE(other.raise(1, milliseconds(5000)));
  CHECK(other.raise(2, milliseconds(5000)));
}
