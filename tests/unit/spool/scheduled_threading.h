// Threads under the control of a scheduler. threading.h uses these instead of std's if
// QUARRY_SPOOL_THREADING names this header, so that a test runs the real code in every interleaving
// up to a bound. All threads are fibers of one OS thread. Wherever another thread could run with an
// observable effect, a choice is made; schedule::explore() runs a scenario again and again, depth
// first over all choices.
//
// Where choices are made, and why that is sufficient
//
//   before lock(), at step(), before a notification whose sender does not hold the mutex of the
//   waiters, and wherever a thread cannot continue (a held mutex, wait, join, end).
//
// Code between two of these only touches what its mutex guards, or its own data; both commute with
// everything that other threads may do meanwhile, so a switch in there, after unlock(), or between
// the creation of a thread and the next choice has the same effect as a switch at the choice. Hence
// the one duty of the code: call step() before each access to shared data that no held mutex guards
// (an atomic, a file, and now() if its exact time matters). step() is allowed under a mutex.
//
// Time is virtual: it stands still except when a deadline passes (or schedule::advance() is
// called). A timed wait may time out at every choice, for one of Bounds::timeouts, and times out
// for free when nothing else can run. It does not have to time out as soon as its deadline has
// passed: real ones are late, too.
//
// A scenario must be deterministic (no real time, no decisions on addresses), must create
// everything that it shares anew on each run, and must not spin on a flag (a loop around step()
// counts as a livelock). thread_local is shared by all its threads. errno and exceptions in flight
// belong to each thread as usual. Outside of a schedule a mutex does nothing, and the other classes
// cannot be used.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace quarry::spool {

namespace schedule {
class Scheduler;
struct Fiber;
}  // namespace schedule

using TimePoint = std::chrono::steady_clock::time_point;

TimePoint now();

/// Lets another thread run. WHERE is for the trace.
void step(std::source_location where = std::source_location::current());

/// Fails the schedule if it is locked twice, unlocked by another thread, or destroyed while it is
/// held or waited for.
class Mutex {
 public:
  Mutex() = default;
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock();
  void unlock();

 private:
  friend class schedule::Scheduler;
  schedule::Fiber* owner_ = nullptr;
};

/// notify_one() wakes any of the waiters, which is a choice. Destroying the object fails the
/// schedule if a thread waits that was not notified.
class Condition {
 public:
  Condition() = default;
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(std::unique_lock<Mutex>& lock) { wait_until(lock, TimePoint::max()); }

  template <typename Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate satisfied) {
    while (!satisfied()) wait(lock);
  }

  /// The deadline TimePoint::max() never passes.
  std::cv_status wait_until(std::unique_lock<Mutex>& lock, TimePoint deadline);

  template <typename Predicate>
  bool wait_until(std::unique_lock<Mutex>& lock, TimePoint deadline, Predicate satisfied) {
    while (!satisfied()) {
      if (wait_until(lock, deadline) == std::cv_status::timeout) return satisfied();
    }
    return true;
  }

  void notify_one();
  void notify_all();

 private:
  friend class schedule::Scheduler;
  const Mutex* mutex_ = nullptr;  // of the last waiter; concurrent waiters share one
};

/// Like std::thread. Fails the schedule in cases in which std::thread would call std::terminate.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::move_only_function<void()> work);
  ~Thread();
  Thread(Thread&& other) noexcept : fiber_(std::exchange(other.fiber_, nullptr)) {}
  Thread& operator=(Thread&& other) noexcept;

  bool joinable() const { return fiber_ != nullptr; }
  void join();
  void detach();

 private:
  schedule::Fiber* fiber_ = nullptr;
};

namespace schedule {

inline constexpr int kUnlimited = std::numeric_limits<int>::max();

/// The maximum distance from the simplest schedule, in which each thread runs until it cannot
/// continue.
struct Bounds {
  int preemptions = 2;              // switches away from a thread that could continue
  int timeouts = 2;                 // deadlines that pass while something else could run
  std::uint64_t max_schedules = 0;  // 0: no limit
  std::uint64_t max_steps = 20000;  // choices per schedule; more count as a livelock
};

struct Outcome {
  std::uint64_t schedules = 0;
  bool complete = false;             // all schedules within the bounds were run, and none failed
  std::string failure;               // empty: no failure
  std::vector<int> failing_choices;  // for replay(); they do not depend on the bounds
  std::string trace;                 // the steps of the failing schedule, one per line
};

using Scenario = std::function<void()>;

/// Runs SCENARIO as thread "main" in every schedule within the bounds, until one fails: by an
/// exception that leaves a thread, a deadlock, misuse of these classes, or too many steps. A
/// schedule ends when all threads have ended, including detached ones: a thread that stays blocked
/// is a deadlock (but see leave_detached()). A failed schedule is abandoned, and objects on the
/// stacks of its threads are never destroyed. After any other schedule everything is destroyed.
Outcome explore(const Bounds& bounds, const Scenario& scenario);

/// Runs one schedule with CHOICES, and with the first alternative at each choice after these.
Outcome replay(const std::vector<int>& choices, const Scenario& scenario,
               std::uint64_t max_steps = Bounds{}.max_steps);

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Within a scenario: fails the schedule, even if the exception (Failed) is caught.
void require(bool condition, const std::string& message);

/// Within a scenario: adds a line to the trace.
void note(const std::string& text);

/// Within a scenario: lets time pass, as if an operation were slow.
void advance(std::chrono::nanoseconds time);

/// Within a scenario: detached threads may stay blocked, or in a timed wait, when main has ended.
/// They are dropped, together with the objects on their stacks.
void leave_detached();

}  // namespace schedule

}  // namespace quarry::spool
