// Schedules the threads of a scenario. At each choice it decides which thread continues. It also
// detects deadlocks.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "scheduled_threading.h"

namespace quarry::spool::schedule {

// --- a thread of a schedule ---------------------------------------------------------------------

using Work = std::move_only_function<void()>;

/// The stack of a fiber. Its lowest page is protected, so an overflow causes a fault.
class Stack {
 public:
  static constexpr std::size_t kSize = 256UZ * 1024;
  static constexpr std::size_t kGuard = 4096;

  Stack()
      : base_(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (base_ == MAP_FAILED || ::mprotect(base_, kGuard, PROT_NONE) != 0) {
      throw std::system_error(errno, std::generic_category(), "the stack of a fiber");
    }
  }
  ~Stack() { ::munmap(base_, kSize); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* base() const { return base_; }

 private:
  void* base_;
};

enum class Waiting : std::uint8_t { kForNothing, kForMutex, kForCondition, kForThread };

struct Fiber {
  int id = 0;
  std::unique_ptr<Stack> stack;  // null for the fiber of explore()
  ucontext_t context{};
  /// The saved __cxa_eh_globals of the fiber while another fiber runs.
  std::array<std::byte, 2 * sizeof(void*)> exceptions{};
  int error_number = 0;
  Work work;  // empty after the start

  void reset(Work next) {
    exceptions = {};
    work = std::move(next);
    done = detached = false;
    waiting = Waiting::kForNothing;
    notifies = nullptr;
  }
  std::string name() const { return id == 0 ? "main" : "thread " + std::to_string(id); }

  bool done = false;
  bool detached = false;
  bool timed_out = false;
  Waiting waiting = Waiting::kForNothing;
  Mutex* mutex = nullptr;
  const Condition* condition = nullptr;
  const Condition* notifies = nullptr;  // the condition to notify when the fiber continues
  const Fiber* thread = nullptr;
  TimePoint deadline = TimePoint::max();

  bool waits_for(const Condition& other) const {
    return waiting == Waiting::kForCondition && condition == &other;
  }
  bool waits_timed() const {
    return waiting == Waiting::kForCondition && deadline != TimePoint::max();
  }
};

// --- the choices --------------------------------------------------------------------------------

/// The choices of one schedule, and the alternatives that are still to be tried.
class Path {
 public:
  /// Searches depth first, starting with CHOICES.
  explicit Path(const std::vector<int>& choices = {}) {
    std::ranges::transform(choices, std::back_inserter(decisions_), [](int choice) {
      return Decision{0, static_cast<std::uint8_t>(choice), 0};
    });
  }

  void begin() { depth_ = 0; }

  /// Returns one of COUNT alternatives, or nullopt if COUNT differs from the previous run. ALLOWED
  /// has one bit per alternative.
  std::optional<int> take(int count, std::uint64_t allowed) {
    if (depth_ == decisions_.size()) {
      const int chosen = std::countr_zero(allowed);
      decisions_.push_back({allowed & ~(std::uint64_t{1} << chosen),
                            static_cast<std::uint8_t>(chosen), static_cast<std::uint8_t>(count)});
    }
    Decision& decision = decisions_[depth_++];
    if (decision.count == 0) decision.count = static_cast<std::uint8_t>(count);
    if (decision.count != count || decision.chosen >= count) return std::nullopt;
    return decision.chosen;
  }

  /// Advances to the next schedule. Returns false after the last one.
  bool next() {
    while (!decisions_.empty() && decisions_.back().untried == 0) decisions_.pop_back();
    if (decisions_.empty()) return false;
    Decision& last = decisions_.back();
    last.chosen = static_cast<std::uint8_t>(std::countr_zero(last.untried));
    last.untried &= last.untried - 1;
    return true;
  }

  bool ended_early() const { return depth_ < decisions_.size(); }

  std::vector<int> choices() const {
    std::vector<int> result;
    result.reserve(decisions_.size());
    for (const Decision& decision : decisions_) result.push_back(decision.chosen);
    while (!result.empty() && result.back() == 0) result.pop_back();
    return result;
  }

 private:
  struct Decision {
    std::uint64_t untried;
    std::uint8_t chosen;
    std::uint8_t count;  // 0: unknown
  };

  std::vector<Decision> decisions_;
  std::size_t depth_ = 0;
};

// --- the scheduler ------------------------------------------------------------------------------

class Scheduler {
 public:
  Scheduler(const Bounds& bounds, Path& path, bool tracing = false)
      : bounds_(bounds), path_(path), tracing_(tracing) {}

  /// Runs one schedule. Returns the reason for a failure, or an empty string.
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

  /// Records a failure, unless an earlier one is recorded already. The schedule ends at the next
  /// choice.
  void note_failure(const std::string& failure);
  [[noreturn]] void fail(const std::string& failure);
  void say(const std::string& text);

 private:
  static constexpr const char* kOtherScenario =
      "the scenario is not deterministic, or the choices are of another one";
  static constexpr std::size_t kMaxTrace = 256UZ * 1024;
  static constexpr std::size_t kMaxFibers = 20;  // so that the alternatives fit into 64 bits

  enum class Action : std::uint8_t { kRun, kTimeOut };
  struct Alternative {
    Action action;
    Fiber* fiber;
    int* budget;  // budget to reduce, or null
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

/// The scheduler of the current schedule, or null.
extern Scheduler* running;

}  // namespace quarry::spool::schedule
