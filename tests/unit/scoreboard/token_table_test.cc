#include "quarry/scoreboard/token_table.h"

#include <doctest/doctest.h>

#include <memory>

using namespace quarry::scoreboard;

namespace {

constexpr Tick kNow = 1'000'000;
constexpr Tick kInterval = 100;
constexpr Tick kLifetime = 10'000;

/// Returns the Nth key. All keys belong to the same set of the table.
TableKey key(std::uint64_t n) {
  return (n << 40U) | 7U;
}

struct TableOfTest {
  std::unique_ptr<TokenTable::Memory> memory = std::make_unique<TokenTable::Memory>();
  TokenTable table{*memory, kInterval, 10, kLifetime};

  void spend(TableKey key, int times, Tick now = kNow) {
    for (int i = 0; i < times; ++i) table.spend(key, now);
  }
  bool has(TableKey key, std::uint32_t tokens) const { return table.wait(key, tokens, kNow) == 0; }
};

}  // namespace

TEST_CASE_FIXTURE(TableOfTest, "tokens refill one by one") {
  spend(key(1), 3);
  CHECK(has(key(1), 4));
  CHECK(table.wait(key(1), 3, kNow) == kInterval);
  CHECK(table.wait(key(1), 1, kNow + 250) == 50);
  CHECK(table.wait(key(1), 1, kNow + 300) == 0);
  table.give_back(key(1), kNow);
  CHECK(has(key(1), 3));
  spend(key(1), 100);
  CHECK(table.wait(key(1), 1, kNow) == 10 * kInterval);
  table.give_back(key(2), kNow);
  CHECK(has(key(2), 1));
}

TEST_CASE_FIXTURE(TableOfTest, "a full set evicts the key that has regained most tokens") {
  for (std::uint64_t n = 0; n < TokenTable::kWays; ++n) spend(key(n), n == 5 ? 2 : 3);
  spend(key(100), 4);
  CHECK(has(key(5), 1));
  CHECK_FALSE(has(key(4), 3));
  for (std::uint64_t n = 200; n < 300; ++n) spend(key(n), 1);
  CHECK_FALSE(has(key(100), 4));
}

TEST_CASE_FIXTURE(TableOfTest, "keys with a count are evicted last, until the count expires") {
  spend(key(1), 3);
  table.update(key(1), kNow, [](Tally tally) { return Tally{1, tally.time}; });
  for (std::uint64_t n = 100; n < 200; ++n) spend(key(n), 9);
  CHECK_FALSE(has(key(1), 3));
  const Tick later = kNow + 3 * kInterval + kLifetime;
  CHECK(table.find(key(1), later - 1).count == 1);
  CHECK(table.find(key(1), later).count == 0);
  for (std::uint64_t n = 200; n < 300; ++n) spend(key(n), 1, later);
  CHECK(table.find(key(1), later) == Tally{});
}

TEST_CASE_FIXTURE(TableOfTest, "an entry from the far future is ignored") {
  spend(key(1), 10);
  CHECK(table.wait(key(1), 1, kNow - 1) > 0);
  CHECK(table.wait(key(1), 1, kNow - 600 * kTicksPerSecond) == 0);
}
