#include "queueing.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/moved.h"

namespace quarry::changes {
namespace {

// Limit on jobs in pending/, in addition to urgent jobs, so that scans of pending/ are fast. The
// other jobs wait in staging/ even if they can run, because more urgent jobs can still overtake
// them there.
constexpr std::size_t kMaxPending = 64;

}  // namespace

Result<void> Queueing::begin() {
  QUARRY_TRY(note_raised(context_.directories, raised_));
  for (const Stage stage : {Stage::kQueue, Stage::kStaging, Stage::kPending, Stage::kRun}) {
    QUARRY_TRY(tracker_.scan({stage}));
  }
  return make_logs();
}

/// Restores missing logs, which are needed to find dependents.
Result<void> Queueing::make_logs() {
  const auto log_folder = context_.directories.log_of(ChangeSetId()).parent_path();
  QUARRY_TRY_ASSIGN(const auto files, context_.directories.files().list(log_folder));
  const std::set<std::string, std::less<>> there(files.begin(), files.end());
  const ChangeLog log(context_.directories);
  for (std::size_t i = static_cast<std::size_t>(Stage::kQueue); i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(stage));
    for (const ChangeSetName& name : names) {
      if (there.contains(name.id.str())) continue;
      // Skip a file that is not a valid job or that has moved, because such a file is handled
      // later.
      const auto job = context_.directories.read(stage, name);
      const auto made = job ? log.rebuild(*job) : Result<void>();
      if (!made) context_.log(made.error());
    }
  }
  return {};
}

/// Reports the moves that other processes made, and updates the stages of the moved jobs in the
/// model.
Result<void> Queueing::report_moves() {
  QUARRY_TRY_ASSIGN(const auto moves, take_moves(context_.directories));
  for (const Moved& each : moves) {
    if (context_.report) context_.report(context_.options, each.job, each.from, each.to);
    QUARRY_TRY(tracker_.locate(each.job.name.id));
  }
  return {};
}

Result<void> Queueing::scan_folders(Scan scan) {
  QUARRY_TRY(tracker_.read_frozen());
  if (scan == Scan::kAll) {
    QUARRY_TRY(tracker_.scan(
        {Stage::kPrequeue, Stage::kQueue, Stage::kStaging, Stage::kPending, Stage::kRun}));
  } else {
    QUARRY_TRY(tracker_.scan({Stage::kQueue, Stage::kPending, Stage::kRun}));
  }
  return tracker_.resolve();
}

Result<void> Queueing::commit() {
  Result<void> done;
  for (const JointMove::Member& moved : context_.move(moving_)) {
    if (moved.outcome) continue;
    done = moved.outcome;
    QUARRY_TRY(tracker_.locate(moved.lock.job.name.id));
  }
  return done;
}

/// Moves ID to TO. If another process has locked or moved the job, does nothing. The next scan
/// handles the job. Also skips a job whose file is unusable, so that other jobs do not wait for it.
Result<void> Queueing::move(const ChangeSetId& id, Stage to, const std::string& why) {
  const ModelJob& known = *tracker_.model().find(id);
  auto lock = context_.directories.lock_job(known.stage, known.name);
  if (!lock && lock.error().code == ErrorCode::kNotFound) return tracker_.locate(id);
  if (!lock && lock.error().code == ErrorCode::kBusy) return {};
  if (!lock && is_unusable(lock.error())) {
    tracker_.log_unusable(id, lock.error());
    return {};
  }
  if (!lock && lock.error().code == ErrorCode::kCorrupt) {
    context_.log(lock.error());
    QUARRY_TRY(context_.directories.put_aside(known.stage, known.name));
    return tracker_.locate(id);
  }
  if (!lock) return std::unexpected(std::move(lock).error());
  Job& job = lock->job;
  if (job.meta.precursors.empty() && !is_over(to)) {
    job.meta.precursors = tracker_.model().precursors_of(id);
  }
  if (to == Stage::kPending && lock->stage() == Stage::kQueue) {
    job.add_history(context_.clock.now(), Stage::kStaging, why);
  }
  QUARRY_TRY(moving_.add(std::move(*lock), to, context_.clock.now(), why));
  tracker_.put(moving_.last(), to);
  return moving_.size() < JointMove::kMax ? Result<void>() : commit();
}

/// Fails jobs that can never run, then the dependents of these jobs.
Result<void> Queueing::fail_doomed() {
  for (auto doomed = tracker_.model().doomed(); !doomed.empty();
       doomed = tracker_.model().doomed()) {
    bool is_one_moved = false;
    for (const auto& [id, why] : doomed) {
      QUARRY_TRY(move(id, Stage::kFail, why));
      const ModelJob* known = tracker_.model().find(id);
      is_one_moved = is_one_moved || !known || is_over(known->stage);
    }
    if (!is_one_moved) return {};
  }
  return {};
}

Result<void> Queueing::move_ready() {
  const base::UnixMillis now = context_.clock.now();
  const Model& model = tracker_.model();
  // Move urgent jobs even if they wait for running jobs. Otherwise, when a running job ends, a less
  // urgent job in pending/ would start before this daemon moves the urgent job. For the same
  // reason, kMaxPending does not apply to urgent jobs.
  const auto urgent = model.in_line(now, kMaxPending, MoveType::kBugFix);
  QUARRY_TRY(move_to_pending(urgent, std::numeric_limits<std::size_t>::max()));
  const std::size_t max_count = urgent.size() + kMaxPending;
  QUARRY_TRY(move_to_pending(model.ready(now), max_count));
  if (!context_.options.takes_lines) return {};
  // Also move jobs that wait for earlier jobs, because the execution daemon lands them in one
  // batch.
  return move_to_pending(model.in_line(now, kMaxPending), max_count);
}

/// Moves the jobs IDS to pending/ until pending/ contains MAX_COUNT jobs. The limit does not apply
/// to rollbacks.
Result<void> Queueing::move_to_pending(const std::vector<ChangeSetId>& ids, std::size_t max_count) {
  for (const ChangeSetId& id : ids) {
    const ModelJob* known = tracker_.model().find(id);
    if (!known || known->stage == Stage::kPending) continue;
    const bool is_rollback = known->name.type == MoveType::kRollback;
    if (!is_rollback && tracker_.count(Stage::kPending) >= max_count) continue;
    const std::string why = tracker_.model().why_not(id, context_.clock.now());
    QUARRY_TRY(move(id, Stage::kPending, why.empty() ? "ready" : why));
  }
  return {};
}

/// Moves the file NAME to fail/ if it is not a valid job. Called for files that are not in the
/// model.
Result<void> Queueing::put_aside(const ChangeSetName& name) {
  const auto lock = context_.directories.lock_job(Stage::kQueue, name);
  if (lock || lock.error().code != ErrorCode::kCorrupt) return {};
  context_.log(lock.error());
  return context_.directories.put_aside(Stage::kQueue, name);
}

Result<void> Queueing::stage() {
  QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(Stage::kQueue));
  for (const ChangeSetName& name : names) {
    const ModelJob* known = tracker_.model().find(name.id);
    if (!known) QUARRY_TRY(put_aside(name));
    if (!known || known->stage != Stage::kQueue) continue;
    std::string why = tracker_.model().why_not(name.id, context_.clock.now());
    if (why.empty()) why = "ready, but too many others are pending";
    // A rollback waits in pending/, because it is executed first as soon as it can run.
    const bool is_rollback = name.type == MoveType::kRollback;
    QUARRY_TRY(move(name.id, is_rollback ? Stage::kPending : Stage::kStaging, why));
  }
  return {};
}

Result<void> Queueing::run(Scan scan) {
  // If the disk is full, try again in the next run.
  if (!has_noted_rules_) {
    const auto noted = note_rules(context_.directories, context_.options.rules);
    if (!noted) context_.log(noted.error());
    has_noted_rules_ = noted.has_value();
  }
  const auto work = [&]() -> Result<void> {
    QUARRY_TRY(report_moves());
    QUARRY_TRY(scan_folders(scan));
    QUARRY_TRY(fail_doomed());
    QUARRY_TRY(move_ready());
    QUARRY_TRY(commit());
    if (auto raised = tracker_.model().raised(kMaxRaised); raised != raised_) {
      QUARRY_TRY(note_raised(context_.directories, raised));
      raised_ = std::move(raised);
    }
    // The folders need not be synced first (see Prequeue::commit).
    if (tracker_.count(Stage::kPending) > 0) context_.wake(Trigger::kExecution);
    return stage();
  };
  auto done = work();
  if (auto committed = commit(); done) done = std::move(committed);
  auto synced = context_.directories.sync_folders();
  if (!synced || !done) return synced ? done : synced;
  return is_finishing_ ? done : cleaning_.run(scan);
}

}  // namespace quarry::changes
