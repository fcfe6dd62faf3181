#include "pool/respawn_policy.h"

#include <doctest/doctest.h>

using namespace quarry::master;
using namespace std::chrono_literals;

TEST_CASE("a child that ended in order, or lived long enough, is replaced immediately") {
  RespawnPolicy policy;
  for (int i = 0; i < 100; ++i) CHECK(policy.after({1ms, true, false}) == 0ms);
  for (int i = 0; i < 100; ++i) CHECK(policy.after({2000ms, false, false}) == 0ms);
}

TEST_CASE("the delay in a crash loop grows up to a limit, until a child lives longer") {
  RespawnPolicy policy;
  for (int i = 0; i < 4; ++i) CHECK(policy.after({5ms, false, false}) == 0ms);
  CHECK(policy.after({5ms, false, false}) == 50ms);
  CHECK(policy.after({5ms, false, false}) == 100ms);
  CHECK(policy.after({5ms, false, false}) == 200ms);
  for (int i = 0; i < 1000; ++i) CHECK(policy.after({5ms, false, false}) <= 5000ms);
  CHECK(policy.after({5ms, false, false}) == 5000ms);
  CHECK(policy.after({1500ms, false, false}) == 0ms);
  CHECK(policy.after({5ms, false, false}) == 0ms);
}

TEST_CASE("children killed from outside do not add up to a crash loop") {
  RespawnPolicy policy;
  for (int i = 0; i < 100; ++i) CHECK(policy.after({5ms, false, true}) == 0ms);
}
