#include "quarry/scoreboard/leases.h"

#include <doctest/doctest.h>

#include <memory>
#include <thread>

#include "eventually.h"
#include "forked.h"
#include "quarry/scoreboard/scoreboard.h"

using namespace quarry::scoreboard;
using std::chrono::milliseconds;

namespace {

Board board_of_test() {
  auto board = Board::create("leases", 2);
  REQUIRE(board);
  return std::move(*board);
}

}  // namespace

TEST_CASE("a lease is exclusive until it is released") {
  const Board board = board_of_test();
  Leases one = board.leases();
  Leases other = board.leases();
  CHECK_FALSE(other.is_held(7));
  const Lease lease = one.take(7, Leases::kLongest);
  REQUIRE(lease);
  CHECK(other.is_held(7));
  CHECK_FALSE(other.is_held(8));
  CHECK_FALSE(other.take(7, Leases::kLongest));
  one.release(lease);
  CHECK_FALSE(other.is_held(7));
  CHECK(other.take(7, Leases::kLongest));
}

TEST_CASE("the lease of a dead process ends at its deadline") {
  const Board board = board_of_test();
  const pid_t child = start_child([&] {
    if (board.leases().take(7, milliseconds(300))) ::raise(SIGKILL);
  });
  REQUIRE(WIFSIGNALED(status_of(child)));
  CHECK(eventually([&] { return !board.leases().is_held(7); }));
  CHECK(board.leases().take(7, milliseconds(300)));
}

TEST_CASE("releasing an expired lease does not affect its new holder") {
  const Board board = board_of_test();
  Leases leases = board.leases();
  const Lease late = leases.take(7, milliseconds(1));
  REQUIRE(late);
  REQUIRE(eventually([&] { return !leases.is_held(7); }));
  REQUIRE(leases.take(7, Leases::kLongest));
  leases.release(late);
  CHECK(leases.is_held(7));
}

TEST_CASE("in corrupt memory, no lease lasts longer than the maximum") {
  auto memory = std::make_unique<LeaseMemory>();
  Leases leases(memory.get());
  for (const std::uint64_t word : {~std::uint64_t{0}, ~std::uint64_t{0} >> 1U, std::uint64_t{1}}) {
    for (auto& each : memory->words) each = word;
    for (std::uint64_t number = 0; number < 1000; ++number) CHECK_FALSE(leases.is_held(number));
    CHECK(leases.take(7, milliseconds(10)));
  }
}

TEST_CASE("only one of many concurrent attempts gets the lease") {
  const Board board = board_of_test();
  std::atomic<int> had = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        if (board.leases().take(7, Leases::kLongest)) ++had;
      });
    }
  }
  CHECK(had == 1);
}

TEST_CASE("without a board, every lease is refused") {
  Leases none = Board().leases();
  CHECK_FALSE(none.is_held(7));
  CHECK_FALSE(none.take(7, milliseconds(10)));
}
