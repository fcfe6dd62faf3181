// Execution of jobs by a child.

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "quarry/base/log.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/joint_move.h"

namespace quarry::changes {
namespace {

void note(const ChangeLog& log, const Job& job) {
  const auto noted = log.note(job);
  if (!noted) base::log(base::LogLevel::kWarning, "{}", noted.error().message);
}

std::function<void(std::string_view)> say_to(const ChangeLog& log, const ChangeSetId& id) {
  return [&log, id](std::string_view text) {
    const auto said = log.say(id, text);
    if (!said) base::log(base::LogLevel::kWarning, "{}", said.error().message);
  };
}

/// A clock that never returns the same time twice, so that the times in the history reflect the
/// order of landing.
class Successive final : public base::Clock {
 public:
  explicit Successive(const base::Clock& clock) : clock_(clock) {}
  base::UnixMillis now() const override {
    last_ = std::max(clock_.now(), base::UnixMillis{last_.value + 1});
    return last_;
  }

 private:
  const base::Clock& clock_;
  mutable base::UnixMillis last_;
};

/// Executes the jobs of LOCKS, and returns their outcomes.
std::vector<Outcome> outcomes_of(Directories& directories, const std::vector<JobLock>& locks,
                                 Executor& executor, const Stop& stop, Turn& turn,
                                 const Executor::Decided& decided) {
  const ChangeLog log(directories);
  std::vector<Executor::Task> tasks;
  for (const JobLock& lock : locks) {
    tasks.push_back({.job = lock.job,
                     .tarball = directories.tarball_of(lock.job.name),
                     .say = say_to(log, lock.job.name.id)});
  }
  try {
    return executor.land_all(tasks, stop, turn, decided);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kError, "cannot execute change sets: {}", error.what());
    // Any of the jobs might have caused the exception. Defer all jobs of a batch, so that each of
    // them is executed alone later.
    return std::vector<Outcome>(
        tasks.size(), {.verdict = tasks.size() > 1 ? Verdict::kDeferred : Verdict::kFailed,
                       .why = std::string(kServersTrouble),
                       .landed = {}});
  }
}

/// Locks the job NAME in pending/. The process that has moved the job there might still hold the
/// lock for a moment, because it moves several jobs together. Waits for that process, but only
/// briefly.
Result<JobLock> lock_soon(Directories& directories, const ChangeSetName& name) {
  constexpr auto kLockPause = std::chrono::milliseconds(1);
  constexpr int kLockAttempts = 100;
  auto lock = directories.lock_job(Stage::kPending, name);
  for (int i = 1; i < kLockAttempts && !lock && lock.error().code == ErrorCode::kBusy; ++i) {
    std::this_thread::sleep_for(kLockPause);
    lock = directories.lock_job(Stage::kPending, name);
  }
  return lock;
}

/// Moves NAMES from pending/ to run/, and locks them. Stops at the first job that cannot be locked,
/// because later jobs might touch the same files and must not overtake this job.
std::vector<JobLock> take(Directories& directories, const std::vector<ChangeSetName>& names,
                          const base::Clock& clock, const Begun& begun) {
  const ChangeLog log(directories);
  std::vector<JobLock> locks;
  for (const ChangeSetName& name : names) {
    auto lock = lock_soon(directories, name);
    if (!lock || !lock->job.held.empty()) break;
    // The move does not have to be durable. After a crash of the machine, the job is executed again
    // from pending/, and its tag in the repository shows whether it has already landed.
    const auto taken = lock->move_unwritten(Stage::kRun, clock.now(), kExecuted);
    if (!taken) {
      base::log(base::LogLevel::kError, "{}", taken.error().message);
      break;
    }
    note(log, lock->job);
    if (begun) begun(name.id);
    locks.push_back(std::move(*lock));
  }
  return locks;
}

/// Returns the next stage of JOB after OUTCOME.
Step step_of(Job& job, Outcome outcome, const Stop& stop, const Rules& rules) {
  const bool is_stopped =
      outcome.verdict == Verdict::kTerminated || outcome.verdict == Verdict::kAbandoned;
  const auto why = is_stopped ? stop.why(job.name.id) : std::nullopt;
  if (is_stopped && !why) {
    return {.to = Stage::kPending, .why = "stopped together with another change set in its batch"};
  }
  if (why && !why->empty()) outcome.why = *why;
  if (outcome.landed) job.landed = outcome.landed;
  return step_after(job, outcome.verdict, std::move(outcome.why), rules);
}

/// Moves the jobs of LOCKS to the stages that follow from OUTCOMES, and returns the verdicts. If a
/// job cannot be moved, it stays in run/ without a lock, and the daemon handles it as after a
/// crash. If such a job has landed, its tag in the repository shows this.
std::vector<Verdict> move_on(Directories& directories, std::span<JobLock> locks,
                             std::span<const Outcome> outcomes, const Stop& stop,
                             const Rules& rules, const base::Clock& clock) {
  const ChangeLog log(directories);
  std::vector<Verdict> verdicts;
  std::map<ChangeSetId, std::size_t> numbers;
  JointMove move(directories);
  const auto commit = [&] {
    for (const JointMove::Member& moved : move.commit()) {
      const ChangeSetId& id = moved.lock.job.name.id;
      if (moved.outcome) {
        note(log, moved.lock.job);
      } else {
        base::log(base::LogLevel::kError, "{}", moved.outcome.error().message);
        verdicts[numbers.at(id)] = Verdict::kDeferred;
      }
    }
  };
  for (std::size_t i = 0; i < locks.size(); ++i) {
    const Step step = step_of(locks[i].job, outcomes[i], stop, rules);
    verdicts.push_back(outcomes[i].verdict);
    numbers[locks[i].job.name.id] = i;
    const auto added = move.add(std::move(locks[i]), step.to, clock.now(), step.why);
    if (!added) {
      base::log(base::LogLevel::kError, "{}", added.error().message);
      verdicts[i] = Verdict::kDeferred;
    }
    if (move.size() == JointMove::kMax) commit();
  }
  commit();
  return verdicts;
}

}  // namespace

void execute_all(Directories& directories, const std::vector<ChangeSetName>& names,
                 Executor& executor, const Stop& stop, Turn& turn, const Rules& rules,
                 const base::Clock& clock, const Begun& begun, const Ended& ended) {
  std::vector<JobLock> locks = take(directories, names, clock, begun);
  const Successive successive(clock);
  std::size_t moved = 0;
  const auto decided = [&](std::span<const Outcome> outcomes) {
    const auto next = std::span(locks).subspan(moved, outcomes.size() - moved);
    if (next.empty()) return;
    const auto verdicts =
        move_on(directories, next, outcomes.subspan(moved), stop, rules, successive);
    moved = outcomes.size();
    if (ended) ended(verdicts);
  };
  if (!locks.empty()) decided(outcomes_of(directories, locks, executor, stop, turn, decided));
  const std::vector<Verdict> skipped(names.size() - locks.size(), Verdict::kSkipped);
  if (ended && !skipped.empty()) ended(skipped);
}

}  // namespace quarry::changes
