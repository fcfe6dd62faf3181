#include "scheduled_threading.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <system_error>

namespace quarry::spool {

namespace schedule {

using Work = std::move_only_function<void()>;

/// Its lowest page is out of bounds, so that an overflow is a fault and not a riddle.
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
  std::unique_ptr<Stack> stack;  // none: the fiber that explore() itself is
  ucontext_t context{};
  /// __cxa_eh_globals, which is opaque, while another fiber runs.
  std::array<std::byte, 2 * sizeof(void*)> exceptions{};
  int error_number = 0;
  Work work;  // until it starts

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
  const Condition* notifies = nullptr;  // as soon as it runs again
  const Fiber* thread = nullptr;
  TimePoint deadline = TimePoint::max();

  bool waits_for(const Condition& other) const {
    return waiting == Waiting::kForCondition && condition == &other;
  }
  bool waits_timed() const {
    return waiting == Waiting::kForCondition && deadline != TimePoint::max();
  }
};

/// The choices of one schedule, and on the way to the next one which of them were not tried yet.
class Path {
 public:
  /// Depth first from the schedule that these choices begin.
  explicit Path(const std::vector<int>& choices = {}) {
    std::ranges::transform(choices, std::back_inserter(decisions_), [](int choice) {
      return Decision{0, static_cast<std::uint8_t>(choice), 0};
    });
  }
  /// At random.
  explicit Path(std::uint64_t seed) : at_random_(true), random_(seed) {}

  void begin() {
    depth_ = 0;
    if (!at_random_) return;
    decisions_.clear();
    rarity_ = random_() % 6;
  }

  /// One of COUNT alternatives, or nothing if it was another number of them when last here. ALLOWED
  /// has a bit for each; the first is always allowed, and mostly preferred at random if USUAL.
  std::optional<int> take(int count, std::uint64_t allowed, bool usual) {
    if (depth_ == decisions_.size()) {
      const int chosen = at_random_ ? draw(allowed, usual) : std::countr_zero(allowed);
      decisions_.push_back({allowed & ~(std::uint64_t{1} << chosen),
                            static_cast<std::uint8_t>(chosen), static_cast<std::uint8_t>(count)});
    }
    Decision& decision = decisions_[depth_++];
    if (decision.count == 0) decision.count = static_cast<std::uint8_t>(count);
    if (decision.count != count || decision.chosen >= count) return std::nullopt;
    return decision.chosen;
  }

  /// To the next schedule; false when there is none.
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
    std::uint8_t count;  // 0: not known yet
  };

  int draw(std::uint64_t allowed, bool usual) {
    if (usual && random_() % (1U << rarity_) != 0) return std::countr_zero(allowed);
    auto skipped = random_() % static_cast<unsigned>(std::popcount(allowed));
    for (; skipped > 0; --skipped) allowed &= allowed - 1;
    return std::countr_zero(allowed);
  }

  std::vector<Decision> decisions_;
  std::size_t depth_ = 0;
  bool at_random_ = false;
  std::mt19937_64 random_;
  std::uint64_t rarity_ = 0;  // of what is unusual, another one for each schedule
};

class Scheduler {
 public:
  Scheduler(const Bounds& bounds, Path& path, bool tracing = false)
      : bounds_(bounds), path_(path), tracing_(tracing) {}

  /// One schedule. Returns why it failed, or nothing.
  std::string run(const Scenario& scenario);
  const std::string& trace() const { return trace_; }

  TimePoint now() const { return now_; }
  void advance(std::chrono::nanoseconds time) { now_ += time; }
  void leave_detached() { leaves_detached_ = true; }

  Fiber& start(Work work);
  void join(const Fiber& fiber);
  void step(const std::source_location& where);
  void lock(Mutex& mutex);
  bool try_lock(Mutex& mutex);
  void unlock(Mutex& mutex);
  bool wait(Condition& condition, Mutex& mutex, TimePoint deadline);
  void notify(Condition& condition, bool all);
  void destroy(const Mutex& mutex);
  void destroy(const Condition& condition);

  /// The first one counts; the schedule ends at the next choice at the latest.
  void note_failure(const std::string& failure);
  [[noreturn]] void fail(const std::string& failure);
  void say(const std::string& text);

 private:
  static constexpr const char* kOtherScenario =
      "the scenario is not deterministic, or the choices are of another one";
  static constexpr std::size_t kMaxTrace = 256UZ * 1024;
  static constexpr std::size_t kMaxFibers = 20;  // the alternatives of a choice fit into 64 bits

  enum class Action : std::uint8_t { kRun, kTimeOut, kWakeForNothing };
  struct Alternative {
    Action action;
    Fiber* fiber;
    int* budget;  // that it takes one of; none: free
  };

  static void enter();
  static bool can_run(const Fiber& fiber);
  void reschedule();
  void list_alternatives(bool goes_on);
  void list_deadlines(bool idle);
  Alternative choose_alternative(bool goes_on);
  int choose(int count, std::uint64_t allowed, bool usual);
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

namespace {

Scheduler* running = nullptr;

Scheduler& scheduler() {
  if (running == nullptr) throw std::logic_error("outside of a schedule");
  return *running;
}

}  // namespace

bool Scheduler::can_run(const Fiber& fiber) {
  switch (fiber.waiting) {
    case Waiting::kForNothing:
      return !fiber.done;
    case Waiting::kForMutex:
      return fiber.mutex->owner_ == nullptr;
    case Waiting::kForCondition:
      return false;
    case Waiting::kForThread:
      return fiber.thread->done;
  }
  return false;
}

std::string Scheduler::run(const Scenario& scenario) {
  if (running != nullptr) throw std::logic_error("a schedule within a schedule");
  path_.begin();
  left_ = bounds_;
  used_ = 0;
  steps_ = 0;
  now_ = TimePoint(std::chrono::hours(1));
  leaves_detached_ = false;
  failure_.clear();
  running = this;
  switch_to(start([&scenario] { scenario(); }));
  running = nullptr;
  if (failure_.empty() && path_.ended_early()) failure_ = kOtherScenario;
  for (const auto& fiber : fibers()) {
    // What a thread that never started holds may refer to stacks that are gone.
    if (!fiber->work) continue;
    [[maybe_unused]] Work* leaked = std::make_unique<Work>(std::move(fiber->work)).release();
  }
  return failure_;
}

Fiber& Scheduler::start(Work work) {
  if (used_ == kMaxFibers) fail("more than 20 threads");
  if (used_ == pool_.size()) {
    pool_.push_back(std::make_unique<Fiber>());
    pool_.back()->id = static_cast<int>(used_);
    pool_.back()->stack = std::make_unique<Stack>();
    ::getcontext(&pool_.back()->context);
  }
  Fiber& fiber = *pool_[used_++];
  fiber.reset(std::move(work));
  fiber.context.uc_stack.ss_sp = fiber.stack->base();
  fiber.context.uc_stack.ss_size = Stack::kSize;
  ::makecontext(&fiber.context, &Scheduler::enter, 0);
  if (tracing_ && fiber.id != 0) say("starts " + fiber.name());
  return fiber;
}

void Scheduler::enter() {
  Scheduler& self = *running;
  Fiber& fiber = *self.current_;
  try {
    Work work = std::exchange(fiber.work, nullptr);
    work();
  } catch (const std::exception& error) {
    self.note_failure("an exception left " + fiber.name() + ": " + error.what());
  } catch (...) {
    self.note_failure("an exception left " + fiber.name());
  }
  fiber.done = true;
  self.say("ends");
  self.reschedule();
}

/// The current fiber has said what it waits for, if anything; returns when it is its turn again.
void Scheduler::reschedule() {
  if (!failure_.empty()) leave();
  if (++steps_ > bounds_.max_steps) fail("no end after " + std::to_string(steps_ - 1) + " steps");
  const bool goes_on = can_run(*current_);
  last_timed_out_ = -1;
  while (true) {
    list_alternatives(goes_on);
    if (alternatives_.empty() && !may_end()) fail("deadlock: " + what_all_wait_for());
    if (alternatives_.empty()) leave();
    const Alternative next = choose_alternative(goes_on);
    if (next.action == Action::kRun) return resume(*next.fiber);
    wake(*next.fiber, next.action == Action::kTimeOut);
    // At one choice deadlines pass in the order of their threads: another order is no other case.
    if (next.action == Action::kTimeOut && next.budget != nullptr) last_timed_out_ = next.fiber->id;
  }
}

/// The first one is free, and the same for any bounds: what replay() does without a choice.
void Scheduler::list_alternatives(bool goes_on) {
  alternatives_.clear();
  if (goes_on) alternatives_.push_back({Action::kRun, current_, nullptr});
  for (const auto& fiber : fibers()) {
    if (!can_run(*fiber) || (goes_on && fiber.get() == current_)) continue;
    alternatives_.push_back({Action::kRun, fiber.get(), goes_on ? &left_.preemptions : nullptr});
  }
  const bool idle = alternatives_.empty();
  if (idle && may_end()) return;
  list_deadlines(idle);
  if (alternatives_.empty()) return;
  for (const auto& fiber : fibers()) {
    if (fiber->waiting != Waiting::kForCondition) continue;
    alternatives_.push_back({Action::kWakeForNothing, fiber.get(), &left_.spurious_wakeups});
  }
}

void Scheduler::list_deadlines(bool idle) {
  Fiber* first = nullptr;
  for (const auto& fiber : fibers()) {
    if (!fiber->waits_timed()) continue;
    if (first == nullptr || fiber->deadline < first->deadline) first = fiber.get();
  }
  if (first == nullptr) return;
  if (idle) alternatives_.push_back({Action::kTimeOut, first, nullptr});
  for (const auto& fiber : fibers()) {
    if (!fiber->waits_timed() || (idle ? fiber.get() == first : fiber->id <= last_timed_out_)) {
      continue;
    }
    const bool free = idle && fiber->deadline <= std::max(first->deadline, now_);
    alternatives_.push_back({Action::kTimeOut, fiber.get(), free ? nullptr : &left_.timeouts});
  }
}

Scheduler::Alternative Scheduler::choose_alternative(bool goes_on) {
  std::uint64_t allowed = 0;
  for (std::size_t i = 0; i < alternatives_.size(); ++i) {
    const int* budget = alternatives_[i].budget;
    if (budget == nullptr || *budget > 0) allowed |= std::uint64_t{1} << i;
  }
  const int chosen = choose(static_cast<int>(alternatives_.size()), allowed, goes_on);
  const Alternative& alternative = alternatives_[static_cast<std::size_t>(chosen)];
  if (alternative.budget != nullptr) --*alternative.budget;
  return alternative;
}

int Scheduler::choose(int count, std::uint64_t allowed, bool usual) {
  if (count == 1) return 0;
  const std::optional<int> chosen = path_.take(count, allowed, usual);
  if (!chosen) fail(kOtherScenario);
  return *chosen;
}

void Scheduler::wake(Fiber& fiber, bool timed_out) {
  fiber.waiting = Waiting::kForMutex;
  fiber.timed_out = timed_out;
  if (timed_out) now_ = std::max(now_, fiber.deadline);
  if (tracing_) say((timed_out ? "sees the deadline pass of " : "sees woken ") + fiber.name());
}

void Scheduler::resume(Fiber& fiber) {
  if (fiber.waiting == Waiting::kForMutex) fiber.mutex->owner_ = &fiber;
  fiber.waiting = Waiting::kForNothing;
  if (&fiber == current_) return;
  if (tracing_) say("gives way to " + fiber.name());
  switch_to(fiber);
}

void Scheduler::switch_to(Fiber& next) {
  Fiber& from = *std::exchange(current_, &next);
  void* globals = abi::__cxa_get_globals();
  std::memcpy(from.exceptions.data(), globals, sizeof from.exceptions);
  std::memcpy(globals, next.exceptions.data(), sizeof next.exceptions);
  from.error_number = std::exchange(errno, next.error_number);
  ::swapcontext(&from.context, &next.context);
}

void Scheduler::leave() {
  switch_to(home_);
  std::unreachable();
}

/// Nothing can run: is that an end, or a deadlock?
bool Scheduler::may_end() const {
  return std::ranges::all_of(fibers(), [this](const auto& fiber) {
    return fiber->done || (fiber->detached && leaves_detached_);
  });
}

void Scheduler::note_failure(const std::string& failure) {
  if (!failure_.empty()) return;
  failure_ = failure;
  say("fails: " + failure);
}

void Scheduler::fail(const std::string& failure) {
  note_failure(failure);
  leave();
}

void Scheduler::say(const std::string& text) {
  if (tracing_ && trace_.size() < kMaxTrace) trace_ += current_->name() + ": " + text + '\n';
}

std::string Scheduler::name(const void* object) {
  const auto found = std::ranges::find(named_, object);
  const auto number = found - named_.begin();
  if (found == named_.end()) named_.push_back(object);
  return "#" + std::to_string(number + 1);
}

std::string Scheduler::what_all_wait_for() {
  std::string result;
  for (const auto& fiber : fibers()) {
    if (fiber->done) continue;
    result += (result.empty() ? "" : ", ") + fiber->name() + " waits for ";
    if (fiber->waiting == Waiting::kForThread) result += fiber->thread->name();
    if (fiber->waiting == Waiting::kForCondition) result += "condition " + name(fiber->condition);
    if (fiber->waiting != Waiting::kForMutex) continue;
    result += "mutex " + name(fiber->mutex) + " of " + fiber->mutex->owner_->name();
  }
  return result;
}

void Scheduler::join(const Fiber& fiber) {
  if (&fiber == current_) fail("a thread joins itself");
  if (fiber.done) return;
  current_->waiting = Waiting::kForThread;
  current_->thread = &fiber;
  if (tracing_) say("joins " + fiber.name());
  reschedule();
}

void Scheduler::step(const std::source_location& where) {
  reschedule();
  if (!tracing_) return;
  const std::string_view file = where.file_name();
  say("steps at " + std::string(file.substr(file.rfind('/') + 1)) + ":" +
      std::to_string(where.line()));
}

void Scheduler::lock(Mutex& mutex) {
  if (mutex.owner_ == current_) fail("a mutex is locked again by its owner");
  current_->waiting = Waiting::kForMutex;
  current_->mutex = &mutex;
  reschedule();
  if (tracing_) say("locks mutex " + name(&mutex));
}

bool Scheduler::try_lock(Mutex& mutex) {
  if (mutex.owner_ == current_) fail("a mutex is locked again by its owner");
  reschedule();
  const bool alone =
      std::ranges::count(fibers(), false, [](auto& fiber) { return fiber->done; }) == 1;
  const bool may_fail = !alone && left_.preemptions > 0;
  const bool fails =
      mutex.owner_ != nullptr || choose(alone ? 1 : 2, may_fail ? 0b11 : 0b01, true) == 1;
  if (fails && mutex.owner_ == nullptr) --left_.preemptions;
  if (!fails) mutex.owner_ = current_;
  if (tracing_) say((fails ? "fails to lock mutex " : "locks mutex ") + name(&mutex));
  return !fails;
}

void Scheduler::unlock(Mutex& mutex) {
  if (mutex.owner_ != current_) fail("a mutex is unlocked by another thread than its owner");
  mutex.owner_ = nullptr;
  if (tracing_) say("unlocks mutex " + name(&mutex));
}

/// True: timed out.
bool Scheduler::wait(Condition& condition, Mutex& mutex, TimePoint deadline) {
  if (mutex.owner_ != current_) fail("a wait without its mutex");
  mutex.owner_ = nullptr;
  condition.mutex_ = current_->mutex = &mutex;
  current_->condition = &condition;
  current_->deadline = deadline;
  current_->timed_out = deadline <= now_;
  current_->waiting = current_->timed_out ? Waiting::kForMutex : Waiting::kForCondition;
  if (tracing_) say("waits for condition " + name(&condition));
  reschedule();
  if (tracing_) say(current_->timed_out ? "has waited until its deadline" : "was woken");
  return current_->timed_out;
}

void Scheduler::notify(Condition& condition, bool all) {
  if (condition.mutex_ == nullptr || condition.mutex_->owner_ != current_) {
    current_->notifies = &condition;
    reschedule();
    current_->notifies = nullptr;
  }
  if (tracing_)
    say((all ? "notifies all of condition " : "notifies condition ") + name(&condition));
  std::array<Fiber*, kMaxFibers> waiters{};
  int count = 0;
  for (const auto& fiber : fibers()) {
    if (fiber->waits_for(condition)) waiters.at(static_cast<std::size_t>(count++)) = fiber.get();
  }
  if (count == 0) return;
  if (!all) {
    waiters[0] = waiters.at(static_cast<std::size_t>(choose(count, (1U << count) - 1, false)));
    count = 1;
  }
  for (Fiber* fiber : std::span(waiters).first(static_cast<std::size_t>(count)))
    wake(*fiber, false);
}

void Scheduler::destroy(const Mutex& mutex) {
  if (mutex.owner_ != nullptr) fail("a mutex is destroyed that " + mutex.owner_->name() + " holds");
  for (const auto& fiber : fibers()) {
    if (fiber->waiting == Waiting::kForMutex && fiber->mutex == &mutex) {
      fail("a mutex is destroyed that " + fiber->name() + " waits for");
    }
  }
}

void Scheduler::destroy(const Condition& condition) {
  for (const auto& fiber : fibers()) {
    if (fiber->waits_for(condition) || fiber->notifies == &condition) {
      fail("a condition is destroyed that " + fiber->name() + " uses");
    }
  }
}

namespace {

Outcome walk(const Bounds& bounds, const Scenario& scenario, Path& path,
             const std::function<bool()>& next) {
  Scheduler scheduler(bounds, path);
  Outcome outcome;
  do {
    if (bounds.max_schedules != 0 && outcome.schedules == bounds.max_schedules) return outcome;
    ++outcome.schedules;
    outcome.failure = scheduler.run(scenario);
  } while (outcome.failure.empty() && next());
  if (!outcome.failure.empty()) {
    outcome.failing_choices = path.choices();
    const Outcome again = replay(outcome.failing_choices, scenario, bounds.max_steps);
    outcome.trace = again.trace;
    // The names of mutexes and conditions are then those of the trace.
    outcome.failure = again.failure.empty() ? outcome.failure + " (not deterministic: not so again)"
                                            : again.failure;
  }
  outcome.complete = outcome.failure.empty();
  return outcome;
}

}  // namespace

Outcome explore(const Bounds& bounds, const Scenario& scenario) {
  Path path;
  return walk(bounds, scenario, path, [&path] { return path.next(); });
}

Outcome sample(std::uint64_t seed, std::uint64_t count, const Bounds& bounds,
               const Scenario& scenario) {
  Path path(seed);
  std::uint64_t done = 0;
  Outcome outcome = walk(bounds, scenario, path, [&done, count] { return ++done < count; });
  outcome.complete = false;
  return outcome;
}

Outcome replay(const std::vector<int>& choices, const Scenario& scenario, std::uint64_t max_steps) {
  Path path(choices);
  Scheduler scheduler({kUnlimited, kUnlimited, kUnlimited, 1, max_steps}, path, true);
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

bool Mutex::try_lock() {
  return running == nullptr || running->try_lock(*this);
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

Thread::~Thread() {
  if (joinable() && running != nullptr) running->fail("a joinable thread is destroyed");
}

Thread& Thread::operator=(Thread&& other) noexcept {
  if (joinable()) scheduler().fail("a joinable thread is assigned to");
  fiber_ = std::exchange(other.fiber_, nullptr);
  return *this;
}

void Thread::start(std::move_only_function<void()> work) {
  fiber_ = &scheduler().start(std::move(work));
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
