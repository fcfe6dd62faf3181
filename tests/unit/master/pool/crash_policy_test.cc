#include "pool/crash_policy.h"

#include <doctest/doctest.h>
#include <csignal>

using namespace quarry::master;
using namespace std::chrono_literals;

namespace {
constexpr EmergencyRestart::Clock::time_point kStart{};
}

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

TEST_CASE("an emergency needs the threshold of crashes within the interval, and starts anew") {
  EmergencyRestart emergency(3, 60s);
  const auto is_emergency_at = [&](std::chrono::seconds time) {
    return emergency.after_crash(kStart + time);
  };
  CHECK_FALSE(is_emergency_at(0s));
  CHECK_FALSE(is_emergency_at(30s));
  CHECK_FALSE(is_emergency_at(61s));
  CHECK(emergency.crashes(kStart + 61s) == 2);
  CHECK(emergency.crashes(kStart + 100s) == 1);
  CHECK(emergency.crashes(kStart + 200s) == 0);
  CHECK(is_emergency_at(62s));
  CHECK(emergency.crashes(kStart + 62s) == 0);
  CHECK_FALSE(is_emergency_at(62s));
  CHECK_FALSE(is_emergency_at(70s));
  CHECK(is_emergency_at(122s));
}

TEST_CASE("there is no emergency if either number is 0") {
  EmergencyRestart no_threshold(0, 60s);
  EmergencyRestart no_interval(1, 0s);
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(no_threshold.after_crash(kStart));
    CHECK_FALSE(no_interval.after_crash(kStart));
  }
}

TEST_CASE("only memory faults count as crashes") {
  CHECK(EmergencyRestart::is_crash(SIGSEGV));
  CHECK(EmergencyRestart::is_crash(SIGBUS));
  for (const int other : {SIGKILL, SIGTERM, SIGABRT, SIGQUIT}) {
    CHECK_FALSE(EmergencyRestart::is_crash(other));
  }
}
