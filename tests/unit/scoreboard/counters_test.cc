#include "quarry/scoreboard/counters.h"

#include <doctest/doctest.h>

using namespace quarry::scoreboard;

TEST_CASE("a bucket includes its bound") {
  CHECK(bucket_of(kDurationBounds, 0) == 0);
  CHECK(bucket_of(kDurationBounds, 100) == 0);
  CHECK(bucket_of(kDurationBounds, 101) == 1);
  CHECK(bucket_of(kDurationBounds, 300'000'000) == kDurationBounds.size() - 1);
  CHECK(bucket_of(kDurationBounds, 300'000'001) == kDurationBounds.size());
  CHECK(bucket_of(kReplySizeBounds, 256) == 0);
  CHECK(bucket_of(kReplySizeBounds, 257) == 1);
  CHECK(bucket_of(kReplySizeBounds, UINT64_MAX) == kReplySizeBounds.size());
}

TEST_CASE("counters that do not agree with each other are not plausible") {
  Counters counters;
  CHECK(counters.is_plausible());
  counters.accepted = counters.requests = 5;
  CHECK_FALSE(counters.is_plausible());
  counters.durations[3] = counters.reply_sizes[0] = 5;
  CHECK(counters.is_plausible());
  // If a child is killed between two updates, one counter is greater by 1.
  counters.requests = 6;
  CHECK(counters.is_plausible());
  counters.requests = 7;
  CHECK_FALSE(counters.is_plausible());
  counters.requests = 5;
  counters.bytes_in = UINT64_MAX;
  CHECK_FALSE(counters.is_plausible());
}

TEST_CASE("sums stay plausible, whatever is added") {
  Counters greedy;
  greedy.bytes_out = UINT64_MAX;
  Counters sum;
  sum.bytes_out = 7;
  for (int i = 0; i < 10; ++i) sum.add(greedy);
  CHECK(sum.is_plausible_sum());
  CHECK(sum.bytes_out > 7);
}
