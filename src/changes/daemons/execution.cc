#include "execution.h"

#include <algorithm>
#include <csignal>

#include "quarry/base/log.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/moved.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::int64_t kBusyPause = 200;      // milliseconds
constexpr std::int64_t kTakeInterval = 1000;  // milliseconds

const std::string kGone = "the process that executed it exited unexpectedly",
                  kStuck = "its job file could not be moved";

/// Returns the first line of JOB's history after the last execution.
std::vector<HistoryLine>::iterator behind_last_execution(Job& job) {
  const auto run = std::ranges::find(job.history.rbegin(), job.history.rend(),
                                     letter_of(Stage::kRun), &HistoryLine::state);
  return run.base();
}

/// Returns the stage with the letter STATE, or nullopt if a job cannot be in this stage after an
/// execution.
std::optional<Stage> stage_of_end(char state) {
  for (const Stage stage :
       {Stage::kPending, Stage::kDone, Stage::kFail, Stage::kTerm, Stage::kAbandon}) {
    if (letter_of(stage) == state) return stage;
  }
  return std::nullopt;
}

}  // namespace

/// Handles a job in run/ whose process has exited, or that has an outcome but could not be moved.
Result<void> Execution::recover(const ChangeSetName& name, const std::string& how, bool is_crash) {
  auto lock = context_.directories.lock_job(Stage::kRun, name);
  if (!lock && lock.error().code == ErrorCode::kCorrupt) {
    context_.log(lock.error());
    return context_.directories.put_aside(Stage::kRun, name);
  }
  if (!lock && is_unusable(lock.error())) {
    tracker_.log_unusable(name.id, lock.error());
    return {};
  }
  if (!lock) {
    // A child of a previous daemon might still be executing the job. That child will move the job.
    const bool is_others =
        lock.error().code == ErrorCode::kBusy || lock.error().code == ErrorCode::kNotFound;
    return is_others ? tracker_.locate(name.id) : std::unexpected(std::move(lock).error());
  }
  Job& job = lock->job;
  const Rules& rules = context_.options.rules;
  // It is safe to execute the job again, because its tag in the repository shows whether it has
  // already landed. A job that could not be moved is treated as if the disk were full (kNoRoom): it
  // is retried and does not fail.
  const Step step =
      is_crash ? step_after_crash(job, how, rules) : step_after(job, Verdict::kNoRoom, how, rules);
  if (step.to == Stage::kFail && name.type == MoveType::kRollback)
    QUARRY_TRY(rollback_.restore(job));
  QUARRY_TRY(context_.move(*lock, step.to, step.why));
  begun_.erase(name.id);
  stuck_.erase(name.id);
  tracker_.put(job, step.to);
  return {};
}

Result<void> Execution::recover() {
  QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(Stage::kRun));
  for (const ChangeSetName& name : names) {
    if (children_.is_busy_with(name.id)) continue;
    if (rollback_.is_under_way() && name.type == MoveType::kRollback) continue;
    const bool is_stuck = stuck_.contains(name.id);
    QUARRY_TRY(recover(name, is_stuck ? kStuck : kGone, !is_stuck));
  }
  return {};
}

/// Reports that a child has moved NAME to run/. The job might already be in another stage.
void Execution::report_begin(const ChangeSetName& name) {
  if (!begun_.insert(name.id).second || !context_.report) return;
  auto found = job_anywhere(context_.directories, name);
  if (!found) return;
  auto& [stage, job] = *found;
  // Complete the history. While the job is in run/, its file lacks the line about this move,
  // because execute_all() writes the line with the next move.
  if (stage == Stage::kRun) {
    job.add_history(context_.clock.now(), Stage::kRun, kExecuted);
  } else {
    job.history.erase(behind_last_execution(job), job.history.end());
  }
  context_.report(context_.options, job, Stage::kPending, Stage::kRun);
}

/// Reports the stage to which a child has moved NAME from run/. The job might have moved again.
void Execution::report_end(const ChangeSetName& name) {
  begun_.erase(name.id);
  if (!context_.report) return;
  auto found = job_anywhere(context_.directories, name);
  if (!found) return;
  Job& job = found->second;
  const auto line = behind_last_execution(job);
  const auto stage = line == job.history.end() ? std::nullopt : stage_of_end(line->state);
  if (!stage) return;
  job.history.erase(line + 1, job.history.end());
  context_.report(context_.options, job, Stage::kRun, *stage);
}

/// Moves each job in pending/ back to queue/ if one of its precursors waits in an earlier stage.
/// This is the case if a crash of the machine has undone the move of the precursor, but not the
/// move of the job.
Result<void> Execution::put_back() {
  std::set<ChangeSetId> waiting;
  for (const Stage stage : {Stage::kPrequeue, Stage::kQueue, Stage::kStaging}) {
    QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(stage));
    for (const ChangeSetName& name : names) waiting.insert(name.id);
  }
  QUARRY_TRY_ASSIGN(const auto names, context_.directories.list(Stage::kPending));
  for (const ChangeSetName& name : names) {
    auto lock = context_.directories.lock_job(Stage::kPending, name);
    // Either another process has locked the job and will move it, or the file is not a valid job
    // and is handled later.
    if (!lock) continue;
    const bool is_behind = std::ranges::any_of(
        lock->job.meta.precursors, [&](const ChangeSetId& id) { return waiting.contains(id); });
    if (!is_behind) continue;
    QUARRY_TRY(context_.move(*lock, Stage::kQueue, "a change set ahead of it is waiting again"));
    waiting.insert(name.id);
    context_.wake(Trigger::kQueue);
  }
  return {};
}

Result<void> Execution::begin() {
  // A previous daemon might have left the note.
  QUARRY_TRY(note_stop(context_.directories, {}));
  QUARRY_TRY(recover());
  return put_back();
}

Result<void> Execution::apply(const Answer& answer) {
  if (answer.is_rollback) return rollback_.take(answer);
  const ChangeSetId& id = answer.name.id;
  if (answer.has_begun) {
    report_begin(answer.name);
    return {};
  }
  QUARRY_TRY(tracker_.locate(id));
  const ModelJob* known = tracker_.model().find(id);
  if (known && known->stage == Stage::kRun) {
    report_begin(answer.name);
    if (answer.how.empty()) stuck_.insert(id);
    return recover(answer.name, answer.how.empty() ? kStuck : answer.how, !answer.how.empty());
  }
  if (begun_.contains(id)) report_end(answer.name);
  if (known && known->stage == Stage::kPending && answer.outcome &&
      answer.outcome->verdict == Verdict::kSkipped) {
    // Another process has locked the job, so try again after a short pause.
    const base::UnixMillis now = context_.clock.now();
    tracker_.delay(id, now, {now.value + kBusyPause});
  }
  return {};
}

Result<void> Execution::take_answers() {
  Result<void> done;
  for (const Answer& answer : children_.take_answers()) {
    auto applied = apply(answer);
    if (!applied) {
      context_.log(applied.error());
      done = std::move(applied);
    }
    if (!answer.has_begun) context_.wake(Trigger::kQueue);
  }
  return done;
}

/// Handles the files ctrl/abandon.CSID and ctrl/term.CSID. Such a file is a request to stop a
/// running job, and contains the reason.
Result<void> Execution::stop_requested() {
  QUARRY_TRY_ASSIGN(const auto files,
                    context_.directories.files().list(context_.directories.control("")));
  for (const std::string& file : files) {
    const std::size_t dot = file.find('.');
    const std::string word = file.substr(0, dot);
    if (dot == file.npos || (word != "abandon" && word != "term")) continue;
    const auto id = ChangeSetId::parse(std::string_view(file).substr(dot + 1));
    const auto path = context_.directories.control(file);
    QUARRY_TRY_ASSIGN(std::string why, context_.directories.read_file(path, kMaxWhy));
    if (why.ends_with('\n')) why.pop_back();
    if (id) {
      QUARRY_TRY_ASSIGN(const bool is_over, stop(*id, word == "term", one_line(why, kMaxWhy)));
      if (!is_over) continue;
    }
    QUARRY_TRY(context_.directories.files().remove(path));
  }
  return {};
}

/// Stops ID for the reason WHY. Returns false if the job has not stopped yet.
Result<bool> Execution::stop(const ChangeSetId& id, bool is_termination, const std::string& why) {
  if (children_.is_busy_with(id)) {
    // Wait for the child's answer, because the job might finish before the signal arrives. The
    // answer contains the outcome.
    if (asked_.insert(id).second) children_.stop(id, is_termination ? SIGTERM : SIGHUP, why);
    return false;
  }
  asked_.erase(id);
  QUARRY_TRY_ASSIGN(const auto location, context_.directories.find(id));
  if (!location) return true;
  if (location->stage == Stage::kRun) return false;
  // The execution has ended in the meantime. If the job was deferred to pending/, it is stopped in
  // pending/.
  if (location->stage != Stage::kPending) return true;
  auto lock = context_.directories.lock_job(Stage::kPending, location->name);
  if (!lock) return lock.error().code == ErrorCode::kNotFound;
  QUARRY_TRY(context_.move(*lock, is_termination ? Stage::kTerm : Stage::kAbandon,
                           why.empty() ? "stopped" : why));
  tracker_.put(lock->job, lock->stage());
  return true;
}

/// Returns whether the gate can be run. If this has changed, records that the queue has stopped or
/// continues.
Result<bool> Execution::can_run_gate() {
  const auto checked = context_.options.check_gate ? context_.options.check_gate() : Result<void>();
  const bool is_stopped = !checked;
  if (is_stopped != is_stopped_) {
    // Do not record the error itself, because readers must not see paths on the server
    // (kServersTrouble).
    QUARRY_TRY(note_stop(context_.directories,
                         is_stopped ? "the gate cannot be run: see the server's log" : ""));
    if (is_stopped) context_.log(checked.error());
    is_stopped_ = is_stopped;
  }
  return !is_stopped;
}

bool Execution::has_pending(const std::vector<ChangeSetId>& jobs) const {
  return std::ranges::any_of(jobs, [&](const ChangeSetId& id) {
    return tracker_.model().find(id)->stage == Stage::kPending;
  });
}

/// Returns whether this host may execute jobs now.
bool Execution::take_right() {
  next_take_.reset();
  if (!context_.options.right || context_.options.right->take()) return true;
  next_take_ = {context_.clock.now().value + kTakeInterval};
  return false;
}

Result<void> Execution::start() {
  if (rollback_.is_under_way()) return rollback_.go_on();
  const auto ready = tracker_.model().ready(context_.clock.now());
  if (has_pending(ready) && !take_right()) return {};
  const ModelJob* first = ready.empty() ? nullptr : tracker_.model().find(ready.front());
  if (first && first->name.type == MoveType::kRollback && first->stage == Stage::kPending) {
    return rollback_.begin(ChangeSetName(first->name));
  }
  if (ready.empty() && !is_stopped_) return {};
  QUARRY_TRY_ASSIGN(const bool is_open, can_run_gate());
  if (!is_open) return {};
  for (const ChangeSetId& id : ready) {
    if (children_.busy() >= context_.options.children) return {};
    const ModelJob* known = tracker_.model().find(id);
    if (!known || known->stage != Stage::kPending ||
        !tracker_.model().is_ready(id, context_.clock.now())) {
      continue;
    }
    QUARRY_TRY(children_.make_idle_one());
    std::string branch = known->branch;
    const MoveType urgency = tracker_.model().urgency(id);
    QUARRY_TRY(children_.give(take_batch(id, ready), std::move(branch), urgency));
  }
  return {};
}

/// Gives turns to land. Children of the previous daemon do not ask this daemon for a turn after a
/// reload. They finish their jobs first, so that the jobs of this daemon do not overtake them
/// repeatedly.
void Execution::give_turns() {
  children_.give_turns([this](const std::string& branch) {
    return is_finishing_ || std::ranges::none_of(tracker_.open(), [&](const ChangeSetId& id) {
             const ModelJob& job = *tracker_.model().find(id);
             return job.stage == Stage::kRun && job.branch == branch &&
                    job.name.type != MoveType::kRollback && !children_.is_busy_with(id);
           });
  });
}

/// Lets an emergency go before the other jobs of a batch that a gate has rejected, if it waits for
/// the batch or for a free child.
void Execution::make_way() {
  constexpr std::size_t kExamined = 10;
  const Model& model = tracker_.model();
  const base::UnixMillis now = context_.clock.now();
  for (const ChangeSetId& id : model.in_line(now, kExamined, MoveType::kEmergency)) {
    const ModelJob& job = *model.find(id);
    if (job.stage != Stage::kPending || job.is_deferred(now)) continue;
    if (model.is_ready(id, now)) children_.make_way(MoveType::kEmergency);
    for (const ChangeSetId& other : model.precursors_of(id)) {
      children_.make_way(MoveType::kEmergency, other);
    }
    for (const ChangeSetId& other : job.dependencies) {
      children_.make_way(MoveType::kEmergency, other);
    }
  }
}

/// Chooses a batch: FIRST, and jobs of the same branch that can land together with FIRST. Chooses
/// only ready jobs and, with takes_lines, jobs that wait only for jobs in the batch. The chosen
/// jobs count as running from now on, although the child moves them to run/ later. If there is a
/// gate, an emergency is not in a batch with less urgent jobs, because they could make the gate
/// reject the batch.
std::vector<ChangeSetName> Execution::take_batch(const ChangeSetId& first,
                                                 const std::vector<ChangeSetId>& ready) {
  const Model& model = tracker_.model();
  const ModelJob known = *model.find(first);
  std::vector<ChangeSetName> names = {known.name};
  std::set<ChangeSetId> batch = {first};
  const base::UnixMillis now = context_.clock.now();
  const bool takes_lines = context_.options.takes_lines;
  const bool is_emergency = model.urgency(first) == MoveType::kEmergency;
  tracker_.start(first);
  for (const ChangeSetId& id : takes_lines ? model.in_order() : ready) {
    if (names.size() >= context_.options.batch || known.goes_alone) break;
    const ModelJob* other = model.find(id);
    if (!other || other->stage != Stage::kPending || other->goes_alone ||
        other->branch != known.branch || other->name.type == MoveType::kRollback ||
        (!takes_lines && is_emergency != (model.urgency(id) == MoveType::kEmergency)) ||
        !(takes_lines ? model.may_follow(id, batch, now) : model.is_ready(id, now))) {
      continue;
    }
    names.push_back(other->name);
    batch.insert(id);
    tracker_.start(id);
  }
  return names;
}

Result<void> Execution::run(Scan scan) {
  auto done = take_answers();
  give_turns();
  QUARRY_TRY(stop_requested());
  if (scan == Scan::kAll) QUARRY_TRY(recover());
  // A full scan includes run/, because children of a previous daemon, which are not in `children_`,
  // might still be executing jobs there.
  QUARRY_TRY(scan == Scan::kAll ? tracker_.scan({Stage::kPending, Stage::kRun})
                                : tracker_.scan({Stage::kPending}));
  if (!rollback_.is_under_way()) {
    // Find jobs that were moved back, for example because they are held now. These jobs keep their
    // position: later jobs in pending/ wait for them.
    QUARRY_TRY(tracker_.locate_all({Stage::kQueue, Stage::kStaging}));
    QUARRY_TRY(tracker_.read_raised());
  }
  QUARRY_TRY(tracker_.read_frozen());
  QUARRY_TRY(tracker_.resolve());
  started_at_ = context_.clock.now();
  if (!is_finishing_ || rollback_.is_under_way()) QUARRY_TRY(start());
  if (children_.busy() == 0 && !rollback_.is_under_way()) give_back_right();
  make_way();
  return done;
}

/// Returns the time at which run() has to be called again. This time is in the past if a deferred
/// job has become due since jobs were last started.
std::optional<base::UnixMillis> Execution::next_time() const {
  std::optional<base::UnixMillis> first;
  for (const auto time :
       {rollback_.next_time(), tracker_.model().next_time(started_at_), next_take_}) {
    if (time && (!first || *time < *first)) first = time;
  }
  return first;
}

bool Execution::is_idle() const {
  if (children_.busy() > 0 || rollback_.is_under_way()) return false;
  if (is_finishing_ || is_stopped_) return true;
  return !has_pending(tracker_.model().ready(context_.clock.now()));
}

}  // namespace quarry::changes
