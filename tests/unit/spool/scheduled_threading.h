// Threads under the control of a scheduler. If QUARRY_SPOOL_THREADING names this header,
// threading.h uses these classes instead of those of std. A test then runs the real code in every
// interleaving of its threads up to a bound.
//
// All threads are fibers of one OS thread. The scheduler makes a choice at every point at which
// another thread could have an observable effect. schedule::explore() runs a scenario repeatedly,
// depth first over all choices.
//
// The scheduler makes a choice
//
//   - before lock(), and at step()
//   - before a notification by a thread that does not hold the mutex of the waiting threads
//   - when a thread cannot continue: at a held mutex, wait, join or end
//
// Between two choices, a thread accesses only data that its mutex protects, or its own data. Other
// threads cannot observe the order of these accesses. Further choices, for example after unlock(),
// would therefore not have any effect.
//
// The code under test has one obligation. It must call step() before each access to shared data
// that is not protected by a held mutex, such as an atomic or a file. It must also call step()
// before now() if the exact time matters. A thread can call step() while it holds a mutex.
//
// Time is virtual, and advances only when a deadline passes or schedule::advance() is called. A
// timed wait can time out at every choice. If a thread could run instead, the timeout counts toward
// Bounds::timeouts. A wait can also time out later than its deadline, as with real threads.
//
// Rules for scenarios
//
//   - A scenario must be deterministic. It must not use the real time or depend on addresses.
//   - It must create all shared objects anew on each run.
//   - It must not poll a flag. A loop around step() counts as a livelock.
//   - All threads share thread_local variables. Each thread has its own errno and exceptions.
//   - Outside of a schedule, a mutex does nothing, and the other classes must not be used.
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

/// Lets another thread run. The trace shows WHERE.
void step(std::source_location where = std::source_location::current());

/// Fails the schedule if a thread locks the mutex twice or unlocks a mutex that another thread
/// holds. Also fails the schedule if the mutex is destroyed while a thread holds it or waits for
/// it.
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

/// The scheduler chooses the thread that notify_one() wakes. The destructor marks the schedule as
/// failed if a thread is still waiting and has not been notified.
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

  /// TimePoint::max() means no deadline.
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
  const Mutex* mutex_ = nullptr;  // mutex of the last waiter; concurrent waiters use the same mutex
};

/// Like std::thread, but fails the schedule when std::thread would call std::terminate.
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

/// Limits on the difference from the simplest schedule, in which each thread runs until it blocks.
struct Bounds {
  int preemptions = 2;              // switches away from a thread that could continue
  int timeouts = 2;                 // deadlines that pass although a thread could run
  std::uint64_t max_schedules = 0;  // 0: unlimited
  std::uint64_t max_steps = 20000;  // choices per schedule; more are a livelock
};

struct Outcome {
  std::uint64_t schedules = 0;
  bool complete = false;             // all schedules within the bounds succeeded
  std::string failure;               // empty: no failure
  std::vector<int> failing_choices;  // for replay(); independent of the bounds
  std::string trace;                 // steps of the failing schedule, one per line
};

using Scenario = std::function<void()>;

/// Runs SCENARIO as thread "main" in every schedule within BOUNDS until a schedule fails. A
/// schedule ends when all threads have ended, including detached ones (but see leave_detached()).
///
/// A schedule fails after an uncaught exception, a deadlock, incorrect use of these classes, or too
/// many steps. A blocked thread at the end is a deadlock. After a failure, objects on the stacks of
/// the threads are not destroyed.
Outcome explore(const Bounds& bounds, const Scenario& scenario);

/// Runs one schedule with CHOICES. At each further choice, takes the first alternative.
Outcome replay(const std::vector<int>& choices, const Scenario& scenario,
               std::uint64_t max_steps = Bounds{}.max_steps);

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// For scenarios: fails the schedule unless CONDITION is true, even if the exception Failed is
/// caught.
void require(bool condition, const std::string& message);

/// For scenarios: adds a line to the trace.
void note(const std::string& text);

/// For scenarios: advances the time, to simulate a slow operation.
void advance(std::chrono::nanoseconds time);

/// For scenarios: allows detached threads to be blocked at the end of "main". They are abandoned
/// without destroying the objects on their stacks.
void leave_detached();

}  // namespace schedule

}  // namespace quarry::spool
