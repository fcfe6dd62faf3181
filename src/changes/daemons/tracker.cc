#include "tracker.h"

#include <utility>

#include "quarry/base/log.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/frozen.h"

namespace quarry::changes {
namespace {

// Maximum number of finished jobs in the model. A job that was removed is read from its file again
// when it is needed.
constexpr std::size_t kMaxFinished = 20'000;

}  // namespace

Tracker::Tracker(const Directories& directories, const Rules& rules)
    : directories_(directories), rules_(rules), log_(directories) {}

void Tracker::put(const Job& job, Stage stage) {
  put(model_job_of(job, stage, rules_));
}

void Tracker::put(ModelJob known) {
  const ChangeSetId id = known.name.id;
  if (const ModelJob* before = model_->find(id))
    at_[static_cast<std::size_t>(before->stage)].erase(id);
  at_[static_cast<std::size_t>(known.stage)].insert(id);
  model_->put(std::move(known));
}

void Tracker::start(const ChangeSetId& id) {
  ModelJob known = *model_->find(id);
  known.stage = Stage::kRun;
  put(std::move(known));
  started_.insert(id);
}

void Tracker::delay(const ChangeSetId& id, base::UnixMillis now, base::UnixMillis time) {
  ModelJob known = *model_->find(id);
  if (known.is_deferred(now) && known.not_before >= time) return;
  known.deferred_at = now;
  known.not_before = time;
  put(std::move(known));
}

void Tracker::log_unusable(const ChangeSetId& id, const Error& error) {
  if (logged_.insert(id).second) base::log(base::LogLevel::kError, "{}", error.message);
}

/// Reads the job NAME in STAGE. Returns false if the job is no longer there.
Result<bool> Tracker::read(Stage stage, const ChangeSetName& name) {
  auto job = directories_.read(stage, name);
  if (job) {
    put(*job, stage);
    // If the job is a finished rollback, find the change sets in the job's list again, because the
    // rollback has moved or marked these change sets.
    for (const ChangeSetId& id : job->closure) {
      const bool is_done = stage == Stage::kDone && model_->find(id) != nullptr;
      if (is_done) QUARRY_TRY(locate(id));
    }
    return true;
  }
  switch (job.error().code) {
    case ErrorCode::kNotFound:
      return false;
    case ErrorCode::kCorrupt:
      base::log(base::LogLevel::kError, "{}", job.error().message);
      return true;
    case ErrorCode::kDenied:
    case ErrorCode::kInvalid:  // not a regular file
      log_unusable(name.id, job.error());
      // An unusable file stays in run/. It must not count as a job, because rollbacks wait until
      // run/ is empty.
      if (stage == Stage::kRun) return true;
      [[fallthrough]];
    case ErrorCode::kBusy: {  // not checked yet
      ModelJob known;
      known.name = name;
      known.stage = stage;
      known.is_unreadable = job.error().code != ErrorCode::kBusy;
      put(std::move(known));
      return true;
    }
    default:
      return std::unexpected(std::move(job).error());
  }
}

Result<void> Tracker::locate(const ChangeSetId& id) {
  started_.erase(id);
  const ModelJob* known = model_->find(id);
  if (!known) return {};
  const ChangeSetName name = known->name;
  // Search twice, because the first search can miss a job that moves back to an earlier stage.
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (std::size_t i = 0; i < kStages; ++i) {
      QUARRY_TRY_ASSIGN(const bool is_there, read(static_cast<Stage>(i), name));
      if (is_there) return {};
    }
  }
  at_[static_cast<std::size_t>(model_->find(id)->stage)].erase(id);
  model_->erase(id);
  return {};
}

Result<void> Tracker::locate_all(std::initializer_list<Stage> stages) {
  for (const Stage stage : stages) {
    const auto known = at_[static_cast<std::size_t>(stage)];
    for (const ChangeSetId& id : known) QUARRY_TRY(locate(id));
  }
  return {};
}

void Tracker::forget(std::initializer_list<Stage> stages) {
  for (const Stage stage : stages) {
    for (const ChangeSetId& id : std::exchange(at_[static_cast<std::size_t>(stage)], {})) {
      model_->erase(id);
    }
  }
}

Result<void> Tracker::scan(std::initializer_list<Stage> stages) {
  forget_what_is_over();
  std::set<ChangeSetId> seen;
  for (const Stage stage : stages) {
    QUARRY_TRY_ASSIGN(const auto names, directories_.list(stage));
    for (const ChangeSetName& name : names) {
      seen.insert(name.id);
      if (started_.contains(name.id)) continue;
      const ModelJob* known = model_->find(name.id);
      // Skip jobs that are already known in this stage. However, re-read unreadable jobs, and jobs
      // in queue/, which can change without moving.
      const bool may_have_changed = stage == Stage::kQueue || (known && known->is_unreadable);
      if (known && known->stage == stage && !may_have_changed) continue;
      QUARRY_TRY(read(stage, name));
    }
  }
  for (const Stage stage : stages) {
    const auto before = at_[static_cast<std::size_t>(stage)];
    for (const ChangeSetId& id : before) {
      if (!seen.contains(id) && !started_.contains(id)) QUARRY_TRY(locate(id));
    }
  }
  return {};
}

/// Adds the job NAME, whose stage is not known.
Result<void> Tracker::add(const ChangeSetName& name) {
  ModelJob known;
  known.name = name;
  put(std::move(known));
  return locate(name.id);
}

Result<void> Tracker::read_raised() {
  for (const RaisedJob& each : noted_raised(directories_)) {
    const ModelJob* known = model_->find(each.id);
    if (known && known->stage == Stage::kPending && !model_->find(each.by.id))
      QUARRY_TRY(add(each.by));
  }
  return {};
}

Result<void> Tracker::resolve() {
  for (const ChangeSetId& id : model_->unknown()) {
    const auto record = log_.read(id);
    if (record && record->name) {
      QUARRY_TRY(add(*record->name));
      continue;
    }
    QUARRY_TRY_ASSIGN(const auto location, directories_.find(id));
    if (location) QUARRY_TRY(read(location->stage, location->name));
  }
  return {};
}

std::vector<ChangeSetId> Tracker::open() const {
  std::vector<ChangeSetId> ids;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (!is_over(static_cast<Stage>(i))) ids.insert(ids.end(), at_[i].begin(), at_[i].end());
  }
  return ids;
}

Result<void> Tracker::read_frozen() {
  QUARRY_TRY_ASSIGN(auto branches, frozen_branches(directories_));
  model_->set_frozen(std::move(branches));
  return {};
}

void Tracker::forget_what_is_over() {
  std::size_t over = 0;
  for (std::size_t i = 0; i < kStages; ++i)
    over += is_over(static_cast<Stage>(i)) ? at_[i].size() : 0;
  if (over <= kMaxFinished) return;
  auto smaller = std::make_unique<Model>();
  for (std::size_t i = 0; i < kStages; ++i) {
    for (const ChangeSetId& id : at_[i]) {
      if (!is_over(static_cast<Stage>(i))) smaller->put(*model_->find(id));
    }
    if (is_over(static_cast<Stage>(i))) at_[i].clear();
  }
  model_ = std::move(smaller);
}

}  // namespace quarry::changes
