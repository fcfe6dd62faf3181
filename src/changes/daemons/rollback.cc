#include "rollback.h"

#include <fmt/core.h>

#include <unistd.h>
#include <algorithm>

#include <csignal>
#include <utility>

namespace quarry::changes {

namespace {

constexpr int kMaxAttempts = 500;
constexpr unsigned kAttemptPause = 10'000;  // microseconds

}  // namespace

Result<void> Rollback::begin(const ChangeSetName& name) {
  QUARRY_TRY(tracker_.scan({Stage::kPrequeue, Stage::kQueue, Stage::kStaging, Stage::kPending,
                            Stage::kDone, Stage::kAbandon}));
  QUARRY_TRY_ASSIGN(auto lock, context_.directories.lock_job(Stage::kPending, name));
  is_handed_over_ = false;
  stopped_.clear();
  deadline_.reset();
  auto closure = closure_of(lock.job);
  lock_ = std::move(lock);
  if (!closure) return end(Stage::kFail, closure.error().message);
  lock_->job.closure = std::move(*closure);
  auto moved = context_.move(*lock_, Stage::kRun,
                             fmt::format("rolls back {} change sets", lock_->job.closure.size()));
  if (!moved) {
    release();
    return moved;
  }
  tracker_.put(lock_->job, Stage::kRun);
  return go_on();
}

/// Returns the change sets to roll back. After a crash, the job already has a list (##closure),
/// which can include change sets that were rolled back before the crash. They stay in the list, and
/// later steps skip them.
Result<std::vector<ChangeSetId>> Rollback::closure_of(const Job& job) const {
  std::vector<ChangeSetId> before, left;
  for (const ChangeSetId& id : job.closure.empty() ? job.meta.dependencies : job.closure) {
    const ModelJob* known = tracker_.model().find(id);
    if (!job.closure.empty() && known && (known->is_rolled_back || is_over(known->stage)) &&
        !(known->stage == Stage::kDone && !known->is_rolled_back)) {
      before.push_back(id);
    } else {
      left.push_back(id);
    }
  }
  const std::size_t limit = std::min(context_.options.rules.max_rollback,
                                     kMaxReferences - std::min(kMaxReferences, before.size()));
  QUARRY_TRY_ASSIGN(auto closure, tracker_.model().closure(left, limit));
  closure.insert(closure.begin(), before.begin(), before.end());
  return closure;
}

/// Asks the running jobs in the list to stop. Kills jobs that take too long.
void Rollback::stop_running() {
  const base::UnixMillis now = context_.clock.now();
  for (const ChangeSetId& id : lock_->job.closure) {
    if (!children_.is_busy_with(id)) continue;
    if (stopped_.insert(id).second) {
      children_.stop(id, SIGHUP, fmt::format("rolled back by {}", lock_->job.name.id.str()));
      deadline_ = {now.value + context_.options.patience.count()};
    } else if (deadline_ && now >= *deadline_) {
      children_.kill(id);
    }
  }
}

/// Abandons dependents first.
Result<void> Rollback::abandon_all() {
  const std::vector<ChangeSetId> closure = lock_->job.closure;
  for (auto id = closure.rbegin(); id != closure.rend(); ++id) QUARRY_TRY(abandon(*id));
  return {};
}

/// Adds new jobs to the list: jobs that depend on listed jobs, or have landed on them.
Result<void> Rollback::extend() {
  QUARRY_TRY(tracker_.scan({Stage::kQueue, Stage::kStaging, Stage::kPending}));
  QUARRY_TRY_ASSIGN(auto closure, closure_of(lock_->job));
  if (closure.size() <= lock_->job.closure.size()) return abandon_all();
  lock_->job.closure = std::move(closure);
  QUARRY_TRY(lock_->update());
  return abandon_all();
}

Result<void> Rollback::go_on() {
  if (is_handed_over_) return {};
  if (auto abandoned = abandon_all(); !abandoned) {
    context_.log(abandoned.error());
    return undo(Verdict::kDeferred, std::string(kServersTrouble));
  }
  stop_running();
  // Wait until the rollback is the only job in run/. Waiting for our own children is not
  // sufficient, because children of a previous daemon might still be executing jobs.
  if (tracker_.count(Stage::kRun) > 1) {
    children_.make_way(MoveType::kRollback);
    return {};
  }
  deadline_.reset();
  if (auto extended = extend(); !extended) {
    const ErrorCode code = extended.error().code;
    const bool is_final = code == ErrorCode::kLimit || code == ErrorCode::kConflict;
    if (is_final) return undo(Verdict::kFailed, extended.error().message);
    context_.log(extended.error());
    return undo(Verdict::kDeferred, std::string(kServersTrouble));
  }
  const auto& closure = lock_->job.closure;
  const bool has_landed = std::ranges::any_of(closure, [&](const ChangeSetId& id) {
    const ModelJob* known = tracker_.model().find(id);
    return known && known->stage == Stage::kDone;
  });
  if (!has_landed) {
    return end(Stage::kDone, "abandoned its change sets, none of which had landed");
  }
  QUARRY_TRY(children_.make_idle_one());
  QUARRY_TRY(children_.give({lock_->job.name}, lock_->job.meta.target, MoveType::kRollback));
  is_handed_over_ = true;
  return {};
}

/// Moves the waiting job ID to abandon/, and records its previous stage.
Result<void> Rollback::abandon(const ChangeSetId& id) {
  const ChangeSetId& by = lock_->job.name.id;
  // Retry, because the queueing daemon might be moving the job.
  for (int attempt = 0;; ++attempt) {
    const ModelJob* known = tracker_.model().find(id);
    if (!known || known->is_rolled_back) return {};
    if (known->stage == Stage::kRun) return {};
    if (is_over(known->stage) && known->stage != Stage::kAbandon) return {};
    auto lock = context_.directories.lock_job(known->stage, known->name);
    if (lock && lock->stage() == Stage::kAbandon) {
      // The job was stopped while it was running, and is already in abandon/. Record pending/ as
      // its previous stage, because jobs in run/ come from there.
      lock->job.rolled_back = RolledBack{.by = by, .from = Stage::kPending};
      QUARRY_TRY(lock->update());
    } else if (lock) {
      lock->job.rolled_back = RolledBack{.by = by, .from = lock->stage()};
      QUARRY_TRY(context_.move(*lock, Stage::kAbandon, fmt::format("rolled back by {}", by.str())));
    }
    if (lock) {
      tracker_.put(lock->job, Stage::kAbandon);
      return {};
    }
    const bool is_moving =
        lock.error().code == ErrorCode::kBusy || lock.error().code == ErrorCode::kNotFound;
    if (!is_moving || attempt == kMaxAttempts) return std::unexpected(std::move(lock).error());
    if (attempt > 0) ::usleep(kAttemptPause);
    QUARRY_TRY(tracker_.locate(id));
  }
}

Result<void> Rollback::restore(const Job& job) {
  for (const ChangeSetId& id : job.closure) {
    QUARRY_TRY_ASSIGN(const auto location, context_.directories.find(id));
    if (!location || location->stage != Stage::kAbandon) continue;
    QUARRY_TRY_ASSIGN(auto lock, context_.directories.lock_job(Stage::kAbandon, location->name));
    if (!lock.job.rolled_back || lock.job.rolled_back->by != job.name.id) continue;
    const Stage from = lock.job.rolled_back->from;
    lock.job.rolled_back.reset();
    QUARRY_TRY(context_.move(lock, from, fmt::format("the rollback {} failed", job.name.id.str())));
    tracker_.put(lock.job, from);
  }
  return {};
}

/// Marks ID, which has landed, as rolled back by ROLLBACK.
Result<void> Rollback::mark(const ChangeSetId& id, const Job& rollback) {
  QUARRY_TRY_ASSIGN(const auto location, context_.directories.find(id));
  if (!location || location->stage != Stage::kDone) return {};
  QUARRY_TRY_ASSIGN(auto lock, context_.directories.lock_job(Stage::kDone, location->name));
  if (lock.job.rolled_back) return {};
  lock.job.rolled_back = RolledBack{.by = rollback.name.id, .from = Stage::kDone};
  lock.job.add_history(context_.clock.now(), Stage::kDone,
                       fmt::format("rolled back by {}", rollback.name.id.str()));
  QUARRY_TRY(lock.update());
  tracker_.put(lock.job, Stage::kDone);
  const auto noted = ChangeLog(context_.directories).note(lock.job);
  if (!noted) context_.log(noted.error());
  return {};
}

/// Ends the rollback for this process. Forgets the waiting jobs, whose moves are not followed any
/// more.
void Rollback::release() {
  lock_.reset();
  tracker_.forget({Stage::kPrequeue, Stage::kQueue, Stage::kStaging});
}

Result<void> Rollback::end(Stage to, const std::string& why) {
  // Release the lock on return in any case: if the move fails, the job stays in run/ without a
  // lock, as after a crash.
  JobLock lock = std::move(*lock_);
  release();
  deadline_.reset();
  if (to != Stage::kDone) lock.job.closure.clear();
  auto moved = context_.move(lock, to, why);
  tracker_.put(lock.job, lock.stage());
  context_.wake(Trigger::kQueue);
  return moved;
}

Result<void> Rollback::undo(Verdict verdict, const std::string& why) {
  auto restored = restore(lock_->job);
  if (!restored) {
    release();
    return restored;
  }
  const Step step = step_after(lock_->job, verdict, why, context_.options.rules);
  return end(step.to, step.why);
}

Result<void> Rollback::take(const Answer& answer) {
  if (!lock_) return {};
  Job& job = lock_->job;
  if (!answer.outcome) {
    // Return the abandoned jobs to their previous stages. A retry of the rollback lists these jobs
    // again.
    const Step step = step_after_crash(job, answer.how, context_.options.rules);
    auto restored = restore(job);
    if (restored) return end(step.to, step.why);
    release();
    return restored;
  }
  if (answer.outcome->verdict != Verdict::kLanded) {
    return undo(answer.outcome->verdict, answer.outcome->why);
  }
  job.landed = answer.outcome->landed;
  for (const ChangeSetId& id : job.closure) {
    if (auto marked = mark(id, job); !marked) {
      release();
      return marked;
    }
  }
  return end(Stage::kDone, answer.outcome->why);
}

}  // namespace quarry::changes
