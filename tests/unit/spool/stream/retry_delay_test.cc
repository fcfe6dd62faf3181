#include "quarry/spool/retry_delay.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace quarry::spool;
using namespace std::chrono_literals;

TEST_CASE("a delay grows with each attempt, up to the maximum") {
  const RetryDelay retry{.base = 1s, .factor = 2, .most = 60s, .jitter = 0};
  CHECK(retry.after(1, 0) == 1s);
  CHECK(retry.after(2, 0) == 2s);
  CHECK(retry.after(6, 0) == 32s);
  CHECK(retry.after(7, 0) == 60s);
  CHECK(retry.after(4'000'000'000, 0) == 60s);
}

TEST_CASE("the jitter subtracts a part of the delay, and never all") {
  const RetryDelay retry{.base = 10s, .factor = 1, .most = 10s, .jitter = 0.5};
  CHECK(retry.after(1, 0) == 10s);
  CHECK(retry.after(1, 0.5) == 7500ms);
  CHECK(retry.after(9, 0.99) > 5s);
  const RetryDelay wild{.base = 1ms, .factor = 1, .most = 1ms, .jitter = 1};
  CHECK(wild.after(1, 0.999) == 1ms);
}

TEST_CASE("an invalid delay is refused with the name of the member") {
  const auto wrong = [](const RetryDelay& retry) {
    const auto checked = retry.check();
    return checked ? std::string() : checked.error().message.substr(0, 4);
  };
  CHECK(wrong({}) == "");
  CHECK(wrong({.base = 0ms}) == "base");
  CHECK(wrong({.base = 2s, .factor = 2, .most = 1s}) == "most");
  CHECK(wrong({.base = 1s, .factor = 0.5}) == "fact");
  CHECK(wrong({.base = 1s, .factor = NAN}) == "fact");
  CHECK(wrong({.base = 1s, .factor = 2, .most = 1h, .jitter = 1.5}) == "jitt");
}
