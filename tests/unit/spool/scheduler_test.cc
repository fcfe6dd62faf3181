// Tests the scheduler that the tests of the queue use. It must find each kind of mistake, accept
// correct code, and run the correct number of schedules.
#include <doctest/doctest.h>

#include <atomic>

#include "scheduled_threading.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using schedule::Bounds;
using schedule::explore;
using schedule::kUnlimited;
using schedule::Outcome;
using schedule::replay;
using schedule::require;

namespace {

using Lock = std::unique_lock<Mutex>;

Bounds preemptions(int count) {
  return {.preemptions = count};
}

void steps(int count) {
  for (int i = 0; i < count; ++i) step();
}

struct Flag {
  Mutex mutex;
  Condition changed;
  bool set = false;
};

void lose_an_update() {
  std::atomic<int> total = 0;
  const auto add = [&total] {
    const int read = total;
    step();
    total = read + 1;
  };
  Thread one(add);
  Thread two(add);
  one.join();
  two.join();
  require(total == 2, "an update was lost");
}

}  // namespace

TEST_CASE("a lost update is found with one preemption and not without, and can be replayed") {
  const Outcome found = explore(preemptions(1), lose_an_update);
  CHECK(found.failure == "an update was lost");
  CHECK_FALSE(found.complete);
  const Outcome missed = explore(preemptions(0), lose_an_update);
  CHECK(missed.failure == "");
  CHECK(missed.complete);
  const Outcome again = replay(found.failing_choices, lose_an_update);
  CHECK(again.failure == found.failure);
  CHECK(again.trace == found.trace);
  CHECK(again.trace.contains("thread 1: gives way to thread 2"));
  CHECK(again.trace.contains("main: fails: an update was lost"));
  CHECK(replay({}, lose_an_update).failure == "");
}

TEST_CASE("locks that are taken in two orders deadlock") {
  const auto scenario = [] {
    Mutex a;
    Mutex b;
    Thread other([&a, &b] {
      const Lock first(b);
      const Lock second(a);
    });
    {
      const Lock first(a);
      const Lock second(b);
    }
    other.join();
  };
  CHECK(explore(preemptions(1), scenario).failure ==
        "deadlock: main waits for mutex #2 of thread 1, thread 1 waits for mutex #1 of main");
  CHECK(explore(preemptions(0), scenario).complete);
}

TEST_CASE("a deadline that passes is found if a timeout may come early, at its own time") {
  const auto scenario = [] {
    Flag flag;
    Thread setter([&flag] {
      const Lock lock(flag.mutex);
      flag.set = true;
      flag.changed.notify_one();
    });
    const TimePoint deadline = now() + 5ms;
    bool waited_long = false;
    {
      Lock lock(flag.mutex);
      if (!flag.set) {
        waited_long = flag.changed.wait_until(lock, deadline) == std::cv_status::timeout;
      }
    }
    require(now() == (waited_long ? deadline : deadline - 5ms), "time is not that of the timeout");
    setter.join();
    require(!waited_long, "the timeout is not handled");
  };
  CHECK(explore({.timeouts = 1}, scenario).failure == "the timeout is not handled");
  CHECK(explore({.timeouts = 0}, scenario).complete);
}

TEST_CASE("two threads of n steps have as many schedules as orders of their parts") {
  // Thread "main" ends before the first thread starts, so each of the two threads has n + 1
  // independent parts.
  const auto count = [](int n, int max) {
    const Outcome outcome = explore(preemptions(max), [n] {
      for (int i = 0; i < 2; ++i) Thread([n] { steps(n); }).detach();
    });
    CHECK(outcome.complete);
    return outcome.schedules;
  };
  CHECK(count(0, kUnlimited) == 2);
  CHECK(count(1, kUnlimited) == 6);      // binomial coefficient (4, 2)
  CHECK(count(2, kUnlimited) == 20);     // binomial coefficient (6, 3)
  CHECK(count(7, kUnlimited) == 12870);  // binomial coefficient (16, 8)
  CHECK(count(7, 0) == 2);
  CHECK(count(7, 1) == 2 + 2 * 7);
}

TEST_CASE("a scenario that is not deterministic is reported") {
  for (const int changed : {1, 3}) {
    int threads = 2;
    const Outcome outcome = explore(preemptions(kUnlimited), [&threads, changed] {
      for (int i = 0; i < threads; ++i) Thread([] { steps(1); }).detach();
      threads = changed;
    });
    CHECK(outcome.failure.contains("deterministic"));
  }
}
