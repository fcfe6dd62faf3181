#include "scheduler.h"

#include <cxxabi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace quarry::spool::schedule {

Scheduler* running = nullptr;

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
    // The function of a thread that has not started can refer to stacks that no longer exist. The
    // function is therefore leaked instead of destroyed.
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

/// Runs other fibers until the current fiber can continue. Before the call, the fiber records the
/// object that it waits for.
void Scheduler::reschedule() {
  if (!failure_.empty()) leave();
  if (++steps_ > bounds_.max_steps) fail("no end after " + std::to_string(steps_ - 1) + " steps");
  const bool goes_on = can_run(*current_);
  last_timed_out_ = -1;
  while (true) {
    list_alternatives(goes_on);
    if (alternatives_.empty() && !may_end()) fail("deadlock: " + what_all_wait_for());
    if (alternatives_.empty()) leave();
    const Alternative next = choose_alternative();
    if (next.action == Action::kRun) return resume(*next.fiber);
    wake(*next.fiber, true);
    // After this timeout, only threads with higher ids can time out at this choice. Other orders of
    // the same timeouts are equivalent.
    if (next.budget != nullptr) last_timed_out_ = next.fiber->id;
  }
}

/// Lists the alternatives of a choice. The first alternative does not use a budget or depend on the
/// bounds. If replay() has no more choices, it takes the first alternative.
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

Scheduler::Alternative Scheduler::choose_alternative() {
  std::uint64_t allowed = 0;
  for (std::size_t i = 0; i < alternatives_.size(); ++i) {
    const int* budget = alternatives_[i].budget;
    if (budget == nullptr || *budget > 0) allowed |= std::uint64_t{1} << i;
  }
  const int chosen = choose(static_cast<int>(alternatives_.size()), allowed);
  const Alternative& alternative = alternatives_[static_cast<std::size_t>(chosen)];
  if (alternative.budget != nullptr) --*alternative.budget;
  return alternative;
}

int Scheduler::choose(int count, std::uint64_t allowed) {
  if (count == 1) return 0;
  const std::optional<int> chosen = path_.take(count, allowed);
  if (!chosen) fail(kOtherScenario);
  return *chosen;
}

void Scheduler::wake(Fiber& fiber, bool timed_out) {
  fiber.waiting = Waiting::kForMutex;
  fiber.timed_out = timed_out;
  if (timed_out) now_ = std::max(now_, fiber.deadline);
  if (tracing_) say((timed_out ? "sees the deadline pass of " : "wakes ") + fiber.name());
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

/// Called when no fiber can run. Returns true at a regular end, and false at a deadlock.
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

void Scheduler::unlock(Mutex& mutex) {
  if (mutex.owner_ != current_) fail("a mutex is unlocked by another thread than its owner");
  mutex.owner_ = nullptr;
  if (tracing_) say("unlocks mutex " + name(&mutex));
}

/// Returns true if the wait timed out.
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
    waiters[0] = waiters.at(static_cast<std::size_t>(choose(count, (1U << count) - 1)));
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

}  // namespace quarry::spool::schedule
