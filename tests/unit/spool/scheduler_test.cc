// Tests of the scheduler that tests the queue: it finds each kind of mistake, none in correct code,
// and the right number of schedules.
#include "scheduled_threading.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "scheduler_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using schedule::Bounds;
using schedule::explore;
using schedule::kUnlimited;
using schedule::Outcome;
using schedule::replay;
using schedule::require;
using schedule::sample;

namespace {

using Lock = std::unique_lock<Mutex>;

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

void lock_in_two_orders() {
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
}

class BoundedBuffer {
 public:
  void put(int value) {
    Lock lock(mutex_);
    room_.wait(lock, [this] { return values_.size() < 1; });
    values_.push_back(value);
    lock.unlock();
    filled_.notify_one();
  }

  int take() {
    Lock lock(mutex_);
    filled_.wait(lock, [this] { return !values_.empty(); });
    const int value = values_.front();
    values_.pop_front();
    room_.notify_one();
    return value;
  }

 private:
  Mutex mutex_;
  Condition room_;
  Condition filled_;
  std::deque<int> values_;
};

void produce_and_consume() {
  BoundedBuffer buffer;
  const auto produce = [&buffer](int first) {
    buffer.put(first);
    buffer.put(first + 1);
  };
  Thread one(produce, 10);
  Thread two(produce, 20);
  std::multiset<int> taken;
  for (int i = 0; i < 4; ++i) taken.insert(buffer.take());
  one.join();
  two.join();
  require(taken == std::multiset<int>{10, 11, 20, 21}, "values were lost or taken twice");
}

}  // namespace

TEST_CASE("a lost update is found with one preemption, and not without") {
  const Outcome found = explore(preemptions(1), lose_an_update);
  CHECK(found.failure == "an update was lost");
  CHECK_FALSE(found.complete);
  const Outcome missed = explore(preemptions(0), lose_an_update);
  CHECK(missed.failure == "");
  CHECK(missed.complete);
}

TEST_CASE("a replay takes the failing schedule again, and prints it") {
  const Outcome found = explore(Bounds{}, lose_an_update);
  const Outcome again = replay(found.failing_choices, lose_an_update);
  CHECK(again.failure == found.failure);
  CHECK(again.trace == found.trace);
  CHECK(says(again.trace, "thread 1: gives way to thread 2"));
  CHECK(says(again.trace, "main: fails: an update was lost"));
  CHECK(replay({}, lose_an_update).failure == "");
}

TEST_CASE("random schedules find a lost update, the same one for the same seed") {
  const Outcome found = sample(7, 1000, preemptions(kUnlimited), lose_an_update);
  CHECK(found.failure == "an update was lost");
  CHECK(replay(found.failing_choices, lose_an_update).failure == found.failure);
  const Outcome again = sample(7, 1000, preemptions(kUnlimited), lose_an_update);
  CHECK(again.schedules == found.schedules);
  CHECK(again.failing_choices == found.failing_choices);
  CHECK(sample(7, 100, preemptions(0), lose_an_update).schedules == 100);
}

TEST_CASE("locks that are taken in two orders deadlock") {
  const Outcome found = explore(preemptions(1), lock_in_two_orders);
  CHECK(found.failure ==
        "deadlock: main waits for mutex #2 of thread 1, thread 1 waits for mutex #1 of main");
  CHECK(explore(preemptions(0), lock_in_two_orders).complete);
}

TEST_CASE("a wakeup is lost between a test without the mutex and the wait") {
  const Outcome found = explore(preemptions(2), [] {
    Flag flag;
    Thread waiter([&flag] {
      Lock lock(flag.mutex);
      const bool set = flag.set;
      lock.unlock();
      lock.lock();
      if (!set) flag.changed.wait(lock);
    });
    Lock lock(flag.mutex);
    flag.set = true;
    flag.changed.notify_one();
    lock.unlock();
    waiter.join();
  });
  CHECK(says(found.failure, "thread 1 waits for condition"));
}

TEST_CASE("the wrong waiter is woken when two kinds of them share a condition") {
  const auto scenario = [](bool all) {
    Flag flag;
    bool other = false;
    Thread one([&flag] {
      Lock lock(flag.mutex);
      flag.changed.wait(lock, [&flag] { return flag.set; });
    });
    Thread two([&flag, &other] {
      Lock lock(flag.mutex);
      flag.changed.wait(lock, [&other] { return other; });
    });
    for (bool* set : {&flag.set, &other}) {
      const Lock lock(flag.mutex);
      *set = true;
      all ? flag.changed.notify_all() : flag.changed.notify_one();
    }
    one.join();
    two.join();
  };
  CHECK(says(explore(Bounds{}, [&] { scenario(false); }).failure, "deadlock"));
  CHECK(explore(Bounds{}, [&] { scenario(true); }).complete);
}

TEST_CASE("a notification without the mutex can come in between any two threads") {
  const Outcome found = explore(preemptions(2), [] {
    auto flag = std::make_unique<Flag>();
    Thread setter([&shared = *flag] {
      {
        const Lock lock(shared.mutex);
        shared.set = true;
      }
      shared.changed.notify_one();
    });
    {
      Lock lock(flag->mutex);
      flag->changed.wait(lock, [&flag] { return flag->set; });
    }
    flag.reset();
    setter.join();
  });
  CHECK(found.failure == "a condition is destroyed that thread 1 uses");
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
    require(!waited_long, "nobody has thought of the timeout");
  };
  CHECK(explore(timeouts(1), scenario).failure == "nobody has thought of the timeout");
  CHECK(explore(timeouts(0), scenario).complete);
}

TEST_CASE("when nothing else can run the earliest deadline passes for free, then the next") {
  const Outcome outcome = explore(timeouts(0), [] {
    Mutex mutex;
    Condition never;
    std::vector<int> order;
    std::vector<Thread> threads;
    for (const int delay : {30, 10, 20}) {
      threads.emplace_back([&, delay] {
        Lock lock(mutex);
        const bool woken = never.wait_for(lock, delay * 1ms, [] { return false; });
        require(!woken, "somebody woke a thread");
        order.push_back(delay);
      });
    }
    const TimePoint start = now();
    for (Thread& thread : threads) thread.join();
    require(order == std::vector{10, 20, 30}, "not in the order of the deadlines");
    require(now() == start + 30ms, "time did not pass");
  });
  CHECK(outcome.failure == "");
  CHECK(outcome.complete);
}

TEST_CASE("a wait whose deadline has passed already lets others in and times out") {
  const Outcome outcome = explore(Bounds{}, [] {
    Flag flag;
    Lock lock(flag.mutex);
    schedule::advance(2s);
    require(flag.changed.wait_until(lock, now() - 1s) == std::cv_status::timeout, "no timeout");
    require(lock.owns_lock(), "the lock was lost");
  });
  CHECK(outcome.failure == "");
}

TEST_CASE("a wait without a loop fails on a spurious wakeup") {
  const auto scenario = [](bool repeats) {
    Flag flag;
    Thread setter([&flag] {
      const Lock lock(flag.mutex);
      flag.set = true;
      flag.changed.notify_one();
    });
    {
      Lock lock(flag.mutex);
      if (repeats) flag.changed.wait(lock, [&flag] { return flag.set; });
      if (!flag.set) flag.changed.wait(lock);
      require(flag.set, "woken too early");
    }
    setter.join();
  };
  Bounds bounds;
  CHECK(explore(bounds, [&] { scenario(false); }).complete);
  bounds.spurious_wakeups = 1;
  CHECK(explore(bounds, [&] { scenario(false); }).failure == "woken too early");
  CHECK(explore(bounds, [&] { scenario(true); }).complete);
}

TEST_CASE("a bounded buffer with two producers and a consumer passes every schedule") {
  const Outcome outcome = explore(preemptions(3), produce_and_consume);
  CHECK(outcome.failure == "");
  CHECK(outcome.complete);
  CHECK(outcome.schedules > 1000);
}

TEST_CASE("two threads of n steps have as many schedules as orders of their parts") {
  // Main ends before the first thread starts, so that each has n + 1 parts and nothing joins.
  const auto count = [](int n, int max) {
    const Outcome outcome = explore(preemptions(max), [n] {
      for (int i = 0; i < 2; ++i) Thread(steps, n).detach();
    });
    CHECK(outcome.complete);
    return outcome.schedules;
  };
  CHECK(count(0, kUnlimited) == 2);
  CHECK(count(1, kUnlimited) == 6);      // 4 over 2
  CHECK(count(2, kUnlimited) == 20);     // 6 over 3
  CHECK(count(4, kUnlimited) == 252);    // 10 over 5
  CHECK(count(7, kUnlimited) == 12870);  // 16 over 8
  CHECK(count(7, 0) == 2);
  CHECK(count(7, 1) == 2 + 2 * 7);
}

TEST_CASE("three threads have as many schedules as the multinomial coefficient says") {
  const Outcome outcome = explore(preemptions(kUnlimited), [] {
    for (int i = 0; i < 3; ++i) Thread(steps, 2).detach();
  });
  CHECK(outcome.complete);
  CHECK(outcome.schedules == 1680);  // 9! / (3! 3! 3!)
}

TEST_CASE("a limit of schedules ends the exploration, incomplete") {
  Bounds bounds;
  bounds.max_schedules = 5;
  const Outcome outcome = explore(bounds, produce_and_consume);
  CHECK(outcome.schedules == 5);
  CHECK(outcome.failure == "");
  CHECK_FALSE(outcome.complete);
}

TEST_CASE("a thread that never ends is a livelock") {
  Bounds bounds;
  bounds.max_steps = 100;
  const Outcome outcome = explore(bounds, [] { steps(1000); });
  CHECK(outcome.failure == "no end after 100 steps");
}
