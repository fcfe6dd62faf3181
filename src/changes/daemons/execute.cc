// What a child does with a job (step 8).

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <optional>
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

/// A clock that never says the same twice: by the time at which each has landed it is known in what
/// order they did.
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

/// What EXECUTOR makes of HOLDS.
std::vector<Outcome> outcomes_of(Directories& directories, const std::vector<JobLock>& holds,
                                 Executor& executor, const Stop& stop) {
  const ChangeLog log(directories);
  std::vector<Executor::Task> tasks;
  for (const JobLock& lock : holds) {
    tasks.push_back({.job = lock.job,
                     .tarball = directories.tarball_of(lock.job.name),
                     .say = say_to(log, lock.job.name.id)});
  }
  try {
    return executor.land_all(tasks, stop);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kError, "an execution broke off: {}", error.what());
    // Who is to blame for it goes alone the next time.
    return std::vector<Outcome>(
        tasks.size(), {.verdict = tasks.size() > 1 ? Verdict::kDeferred : Verdict::kFailed,
                       .why = std::string(kServersTrouble),
                       .landed = {}});
  }
}

/// NAME, which is in pending/. Who has moved it there lets go of it in a moment, with all that moved
/// with it; more than that is not waited for.
base::Result<JobLock> hold_soon(Directories& directories, const ChangeSetName& name) {
  constexpr auto kHoldPause = std::chrono::milliseconds(1);
  constexpr int kLooks = 100;
  auto lock = directories.lock_job(Stage::kPending, name);
  for (int i = 1; i < kLooks && !lock && lock.error().code == base::ErrorCode::kBusy; ++i) {
    std::this_thread::sleep_for(kHoldPause);
    lock = directories.lock_job(Stage::kPending, name);
  }
  return lock;
}

/// Takes NAMES from pending/ to run/, up to the first that cannot be taken: those behind it may touch
/// the same files, and would pass it.
std::vector<JobLock> take(Directories& directories, const std::vector<ChangeSetName>& names,
                          const base::Clock& clock, const Begun& begun) {
  const ChangeLog log(directories);
  std::vector<JobLock> holds;
  for (const ChangeSetName& name : names) {
    auto lock = hold_soon(directories, name);
    if (!lock || !lock->job.held.empty()) break;
    // Nothing is lost where a machine forgets this: the job is then in pending/, and what it has
    // landed is known by its tag.
    const auto taken = lock->move(Stage::kRun, clock.now(), kExecuted, Syncing::kNever);
    if (!taken) {
      base::log(base::LogLevel::kError, "{}", taken.error().message);
      break;
    }
    note(log, lock->job);
    if (begun) begun(name.id);
    holds.push_back(std::move(*lock));
  }
  return holds;
}

/// Where JOB goes after OUTCOME.
Step step_of(Job& job, Outcome outcome, const Stop& stop, const Rules& rules) {
  const bool is_stopped =
      outcome.verdict == Verdict::kTerminated || outcome.verdict == Verdict::kAbandoned;
  const auto why = is_stopped ? stop.why(job.name.id) : std::nullopt;
  if (is_stopped && !why) {
    return {.to = Stage::kPending,
            .why = "stopped for the sake of another that was executed with it"};
  }
  if (why && !why->empty()) outcome.why = *why;
  if (outcome.landed) job.landed = outcome.landed;
  return step_after(job, outcome.verdict, std::move(outcome.why), rules);
}

/// Moves HOLDS to where OUTCOMES lead. The verdicts; one that cannot be moved stays in run/, where the
/// daemon finds it without a holder, as after an abnormal end; what has landed is known by its tag.
std::map<ChangeSetId, Verdict> move_on(Directories& directories, std::vector<JobLock> holds,
                                       const std::vector<Outcome>& outcomes, const Stop& stop,
                                       const Rules& rules, const base::Clock& clock) {
  const ChangeLog log(directories);
  std::map<ChangeSetId, Verdict> verdicts;
  JointMove move(directories);
  const auto commit = [&] {
    for (const JointMove::Member& moved : move.commit()) {
      const ChangeSetId& id = moved.lock.job.name.id;
      if (moved.outcome) {
        note(log, moved.lock.job);
      } else {
        base::log(base::LogLevel::kError, "{}", moved.outcome.error().message);
        verdicts[id] = Verdict::kDeferred;
      }
    }
  };
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const ChangeSetId id = holds[i].job.name.id;
    const Step step = step_of(holds[i].job, outcomes[i], stop, rules);
    verdicts[id] = outcomes[i].verdict;
    const auto added = move.add(std::move(holds[i]), step.to, clock.now(), step.why);
    if (!added) {
      base::log(base::LogLevel::kError, "{}", added.error().message);
      verdicts[id] = Verdict::kDeferred;
    }
    if (move.size() == JointMove::kMost) commit();
  }
  commit();
  return verdicts;
}

}  // namespace

std::vector<Outcome> Executor::land_all(const std::vector<Task>& tasks, const Stop& stop) {
  std::vector<Outcome> outcomes;
  for (const Task& task : tasks) {
    outcomes.push_back(land(task.job, task.tarball, stop, task.say));
  }
  return outcomes;
}

std::vector<Verdict> execute_all(Directories& directories, const std::vector<ChangeSetName>& names,
                                 Executor& executor, const Stop& stop, const Rules& rules,
                                 const base::Clock& clock, const Begun& begun) {
  std::vector<Verdict> verdicts(names.size(), Verdict::kSkipped);
  std::vector<JobLock> holds = take(directories, names, clock, begun);
  if (holds.empty()) return verdicts;
  const std::vector<Outcome> outcomes = outcomes_of(directories, holds, executor, stop);
  const Successive successive(clock);
  const auto ends = move_on(directories, std::move(holds), outcomes, stop, rules, successive);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto end = ends.find(names[i].id);
    if (end != ends.end()) verdicts[i] = end->second;
  }
  return verdicts;
}

Verdict execute(Directories& directories, const ChangeSetName& name, Executor& executor,
                const Stop& stop, const Rules& rules, const base::Clock& clock) {
  return execute_all(directories, {name}, executor, stop, rules, clock).front();
}

}  // namespace quarry::changes
