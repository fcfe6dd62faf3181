// Schedules the threads: decides at each choice which one continues, and detects deadlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "fiber.h"
#include "schedule_path.h"
#include "scheduled_threading.h"

namespace quarry::spool::schedule {

class Scheduler {
 public:
  Scheduler(const Bounds& bounds, Path& path, bool tracing = false)
      : bounds_(bounds), path_(path), tracing_(tracing) {}

  /// Runs one schedule. Returns why it failed, or nothing.
  std::string run(const Scenario& scenario);
  const std::string& trace() const { return trace_; }

  TimePoint now() const { return now_; }
  void advance(std::chrono::nanoseconds time) { now_ += time; }
  void leave_detached() { leaves_detached_ = true; }

  Fiber& start(Work work);
  void join(const Fiber& fiber);
  void step(const std::source_location& where);
  void lock(Mutex& mutex);
  void unlock(Mutex& mutex);
  bool wait(Condition& condition, Mutex& mutex, TimePoint deadline);
  void notify(Condition& condition, bool all);
  void destroy(const Mutex& mutex);
  void destroy(const Condition& condition);

  /// Only the first failure counts; the schedule ends at the next choice at the latest.
  void note_failure(const std::string& failure);
  [[noreturn]] void fail(const std::string& failure);
  void say(const std::string& text);

 private:
  static constexpr const char* kOtherScenario =
      "the scenario is not deterministic, or the choices are of another one";
  static constexpr std::size_t kMaxTrace = 256UZ * 1024;
  static constexpr std::size_t kMaxFibers = 20;  // the alternatives of a choice fit into 64 bits

  enum class Action : std::uint8_t { kRun, kTimeOut };
  struct Alternative {
    Action action;
    Fiber* fiber;
    int* budget;  // that it consumes; null: free
  };

  static void enter();
  static bool can_run(const Fiber& fiber);
  void reschedule();
  void list_alternatives(bool goes_on);
  void list_deadlines(bool idle);
  Alternative choose_alternative();
  int choose(int count, std::uint64_t allowed);
  void wake(Fiber& fiber, bool timed_out);
  void resume(Fiber& fiber);
  void switch_to(Fiber& next);
  [[noreturn]] void leave();
  bool may_end() const;
  std::string what_all_wait_for();
  std::string name(const void* object);

  auto fibers() const { return std::span(pool_).first(used_); }

  const Bounds bounds_;
  Path& path_;
  const bool tracing_;
  std::string trace_;
  std::vector<const void*> named_;

  Fiber home_;
  std::vector<std::unique_ptr<Fiber>> pool_;
  std::size_t used_ = 0;
  Fiber* current_ = &home_;
  std::vector<Alternative> alternatives_;
  Bounds left_;
  int last_timed_out_ = -1;
  std::uint64_t steps_ = 0;
  TimePoint now_;
  bool leaves_detached_ = false;
  std::string failure_;
};

/// The current scheduler; null outside of a schedule.
extern Scheduler* running;

}  // namespace quarry::spool::schedule
