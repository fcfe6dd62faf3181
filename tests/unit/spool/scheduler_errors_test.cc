// How the scheduler handles mistakes in a scenario, and its remains.
#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "scheduled_threading.h"
#include "scheduler_world.h"

using namespace quarry::spool;
using schedule::Bounds;
using schedule::explore;
using schedule::kUnlimited;
using schedule::Outcome;
using schedule::require;

namespace {

using ErrorLock = std::unique_lock<Mutex>;

}  // namespace

TEST_CASE("an exception that leaves a thread fails the schedule, a failed check even if caught") {
  const Outcome thrown = explore(Bounds{}, [] {
    Thread thread([] { throw std::runtime_error("the disk is full"); });
    thread.join();
  });
  CHECK(thrown.failure == "an exception left thread 1: the disk is full");
  const Outcome caught = explore(Bounds{}, [] {
    try {
      require(false, "a check");
    } catch (const schedule::Failed& failed) {
      schedule::note(failed.what());
    }
  });
  CHECK(caught.failure == "a check");
}

TEST_CASE("threads that switch while they handle exceptions each keep their own") {
  const Outcome outcome = explore(preemptions(kUnlimited), [] {
    const auto work = [](const std::string& name) {
      try {
        throw std::runtime_error(name);
      } catch (const std::exception&) {
        step();
        try {
          throw;
        } catch (const std::exception& error) {
          require(error.what() == name, "the exception of another thread");
        }
        step();
      }
      require(std::uncaught_exceptions() == 0, "an exception is still on its way");
    };
    Thread one(work, "one");
    Thread two(work, "two");
    one.join();
    two.join();
  });
  CHECK(outcome.failure == "");
  CHECK(outcome.complete);
}

TEST_CASE("try_lock sees a mutex that is held in the middle of its holder's code") {
  const auto scenario = [] {
    Mutex mutex;
    int entered = 0;
    Thread holder([&mutex, &entered] {
      const ErrorLock lock(mutex);
      ++entered;
    });
    {
      const ErrorLock lock(mutex, std::try_to_lock);
      if (lock) ++entered;
    }
    holder.join();
    require(entered == 2, "the mutex was held");
  };
  CHECK(explore(preemptions(1), scenario).failure == "the mutex was held");
  CHECK(explore(preemptions(0), scenario).complete);
}

TEST_CASE("misuse that std leaves undefined fails the schedule") {
  const auto failure = [](const schedule::Scenario& scenario) {
    return explore(Bounds{}, scenario).failure;
  };
  CHECK(failure([] { const Thread thread(steps, 1); }) == "a joinable thread is destroyed");
  CHECK(failure([] {
          Mutex mutex;
          mutex.lock();
          mutex.lock();
        }) == "a mutex is locked again by its owner");
  CHECK(failure([] { Mutex().unlock(); }) ==
        "a mutex is unlocked by another thread than its owner");
  CHECK(failure([] { Mutex().lock(); }) == "a mutex is destroyed that main holds");
}

TEST_CASE("a detached thread that stays blocked is a deadlock, unless the scenario lets it") {
  const auto scenario = [](bool leave) {
    if (leave) schedule::leave_detached();
    auto flag = std::make_shared<Flag>();
    Thread([flag] {
      ErrorLock lock(flag->mutex);
      flag->changed.wait(lock, [&flag] { return flag->set; });
    }).detach();
  };
  CHECK(explore(Bounds{}, [&] { scenario(false); }).failure ==
        "deadlock: thread 1 waits for condition #2");
  CHECK(explore(Bounds{}, [&] { scenario(true); }).complete);
}

TEST_CASE("a scenario that is not deterministic is reported") {
  for (const int changed : {1, 3}) {
    int threads = 2;
    const Outcome outcome = explore(preemptions(kUnlimited), [&threads, changed] {
      for (int i = 0; i < threads; ++i) Thread(steps, 1).detach();
      threads = changed;
    });
    CHECK(says(outcome.failure, "deterministic"));
  }
}

TEST_CASE("resources of the threads of a schedule are released when it ends") {
  const auto alive = std::make_shared<int>();
  const Outcome outcome = explore(preemptions(kUnlimited), [&alive] {
    const auto work = [held = alive] { steps(2); };
    Thread one(work);
    Thread two(work);
    one.join();
    two.join();
  });
  CHECK(outcome.complete);
  CHECK(alive.use_count() == 1);
}
