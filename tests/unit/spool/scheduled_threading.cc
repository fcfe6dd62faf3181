#include "scheduled_threading.h"

#include <utility>

#include "scheduler.h"

namespace quarry::spool {

namespace schedule {

namespace {

Scheduler& scheduler() {
  if (running == nullptr) throw std::logic_error("outside of a schedule");
  return *running;
}

}  // namespace

Outcome explore(const Bounds& bounds, const Scenario& scenario) {
  Path path;
  Scheduler scheduler(bounds, path);
  Outcome outcome;
  do {
    if (bounds.max_schedules != 0 && outcome.schedules == bounds.max_schedules) return outcome;
    ++outcome.schedules;
    outcome.failure = scheduler.run(scenario);
  } while (outcome.failure.empty() && path.next());
  if (!outcome.failure.empty()) {
    outcome.failing_choices = path.choices();
    const Outcome again = replay(outcome.failing_choices, scenario, bounds.max_steps);
    outcome.trace = again.trace;
    // The message comes from the replay, so that it contains the same names for mutexes and
    // conditions as the trace.
    outcome.failure = again.failure.empty() ? outcome.failure + " (not deterministic: not so again)"
                                            : again.failure;
  }
  outcome.complete = outcome.failure.empty();
  return outcome;
}

Outcome replay(const std::vector<int>& choices, const Scenario& scenario, std::uint64_t max_steps) {
  Path path(choices);
  Scheduler scheduler({kUnlimited, kUnlimited, 1, max_steps}, path, true);
  Outcome outcome;
  outcome.schedules = 1;
  outcome.failure = scheduler.run(scenario);
  outcome.trace = scheduler.trace();
  if (!outcome.failure.empty()) outcome.failing_choices = choices;
  return outcome;
}

void require(bool condition, const std::string& message) {
  if (condition) return;
  scheduler().note_failure(message);
  throw Failed(message);
}

void note(const std::string& text) {
  scheduler().say(text);
}

void advance(std::chrono::nanoseconds time) {
  scheduler().advance(time);
}

void leave_detached() {
  scheduler().leave_detached();
}

}  // namespace schedule

using schedule::running;
using schedule::scheduler;

TimePoint now() {
  return scheduler().now();
}

void step(std::source_location where) {
  if (running != nullptr) running->step(where);
}

Mutex::~Mutex() {
  if (running != nullptr) running->destroy(*this);
}

void Mutex::lock() {
  if (running != nullptr) running->lock(*this);
}

void Mutex::unlock() {
  if (running != nullptr) running->unlock(*this);
}

Condition::~Condition() {
  if (running != nullptr) running->destroy(*this);
}

std::cv_status Condition::wait_until(std::unique_lock<Mutex>& lock, TimePoint deadline) {
  const bool timed_out = scheduler().wait(*this, *lock.mutex(), deadline);
  return timed_out ? std::cv_status::timeout : std::cv_status::no_timeout;
}

void Condition::notify_one() {
  if (running != nullptr) running->notify(*this, false);
}

void Condition::notify_all() {
  if (running != nullptr) running->notify(*this, true);
}

Thread::Thread(std::move_only_function<void()> work)
    : fiber_(&scheduler().start(std::move(work))) {}

Thread::~Thread() {
  if (joinable() && running != nullptr) running->fail("a joinable thread is destroyed");
}

Thread& Thread::operator=(Thread&& other) noexcept {
  if (joinable()) scheduler().fail("a joinable thread is assigned to");
  fiber_ = std::exchange(other.fiber_, nullptr);
  return *this;
}

void Thread::join() {
  if (!joinable()) scheduler().fail("a thread is joined that is not joinable");
  scheduler().join(*fiber_);
  fiber_ = nullptr;
}

void Thread::detach() {
  if (!joinable()) scheduler().fail("a thread is detached that is not joinable");
  std::exchange(fiber_, nullptr)->detached = true;
}

}  // namespace quarry::spool
