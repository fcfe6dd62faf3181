#include "quarry/changes/explanation.h"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "quarry/changes/actions.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/model.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::array kWaitingStages = {Stage::kPrequeue, Stage::kQueue, Stage::kStaging,
                                       Stage::kPending, Stage::kRun};

class Reading {
 public:
  Reading(const Directories& directories, const Rules& rules)
      : directories_(directories), rules_(rules) {}

  Result<void> read(Stage stage) {
    auto names = directories_.list(stage);
    if (!names && names.error().code == ErrorCode::kNotFound) return {};
    if (!names) return std::unexpected(std::move(names).error());
    for (const ChangeSetName& name : *names) QUARRY_TRY(put(stage, name));
    return {};
  }
  /// Reads the waiting jobs of VIEW.
  Result<void> read(const QueueView& view);
  /// Reads the dependencies of known jobs. Does not read the dependencies of finished jobs.
  Result<void> read_unknown();

  Model model;

 private:
  Result<void> put(Stage stage, const ChangeSetName& name, bool with_dependencies = true);

  const Directories& directories_;
  const Rules& rules_;
  std::size_t files_ = 0;
};

Result<void> Reading::put(Stage stage, const ChangeSetName& name, bool with_dependencies) {
  if (++files_ > kMaxExplained) {
    return fail(ErrorCode::kLimit, "more than {} change sets", kMaxExplained);
  }
  const auto job = directories_.read(stage, name);
  ModelJob known;
  if (job) {
    known = model_job_of(*job, stage, rules_);
    if (!with_dependencies) known.dependencies.clear();
  } else if (job.error().code == ErrorCode::kNotFound) {
    return {};  // it has moved, so skip it
  } else {
    known.name = name;
    known.stage = stage;
    known.is_unreadable = job.error().code != ErrorCode::kBusy;
  }
  model.put(std::move(known));
  return {};
}

Result<void> Reading::read(const QueueView& view) {
  std::map<ChangeSetId, const Job*> viewed;
  for (const JobView& each : view.jobs) {
    const bool is_read = !each.is_new && each.remark.empty();
    if (is_read) viewed.emplace(each.job.name.id, &each.job);
  }
  for (const JobLocation& each : view.waiting) {
    const auto found = viewed.find(each.name.id);
    if (found == viewed.end()) {
      QUARRY_TRY(put(each.stage, each.name));
    } else {
      model.put(model_job_of(*found->second, each.stage, rules_));
    }
  }
  return read_unknown();
}

Result<void> Reading::read_unknown() {
  std::set<ChangeSetId> asked;
  for (bool is_complete = false; !std::exchange(is_complete, true);) {
    for (const ChangeSetId& id : model.unknown()) {
      if (!asked.insert(id).second) continue;
      is_complete = false;
      const auto location = find_one(directories_, id.str());
      if (!location && location.error().code == ErrorCode::kNotFound) continue;
      if (!location) return std::unexpected(location.error());
      QUARRY_TRY(put(location->stage, location->name, !is_over(location->stage)));
    }
  }
  return {};
}

/// Free space, in bytes, below which a disk is treated as full, because a job file needs more
/// space.
constexpr std::uint64_t kNoRoom = std::uint64_t{16} << 10;

/// Returns the reason why the queue does not execute jobs now, or an empty string. IS_ROLLBACK says
/// whether the job is a rollback. A queue that has stopped still executes rollbacks.
std::string why_halted(const Directories& directories, bool is_rollback) {
  const std::string reason = stop_reason(directories);
  if (!reason.empty() && !is_rollback) return "the queue has stopped: " + reason;
  struct statvfs disk {};
  if (::statvfs(directories.base().c_str(), &disk) != 0) return {};
  const std::uint64_t room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const bool is_full = room < kNoRoom || (disk.f_files > 0 && disk.f_favail == 0);
  return is_full ? "the disk of the queue is full: processing continues when space is available"
                 : "";
}

/// Subtracts the time for which a running job has been running from its expected time. If it takes
/// longer than usual, jobs that wait for it do not have an expected time. If all running jobs take
/// longer than usual, no job has an expected time.
void subtract_running_time(QueueView& view, const Model& model, base::UnixMillis now) {
  std::set<ChangeSetId> late;
  std::size_t running = 0, late_running = 0;
  const auto is_late = [&](const ChangeSetId& id) { return late.contains(id); };
  for (JobView& each : view.jobs) {
    if (is_over(each.stage) || !each.expected) continue;
    const ChangeSetId& id = each.job.name.id;
    bool is_unknown = running > 0 && late_running == running;
    if (each.began) {
      ++running;
      *each.expected -=
          std::chrono::milliseconds(std::max<std::int64_t>(now.value - each.began->value, 0));
      is_unknown = each.is_late = each.expected->count() <= 0;
      late_running += each.is_late ? 1 : 0;
    } else if (!is_unknown) {
      is_unknown = std::ranges::any_of(model.precursors_of(id), is_late) ||
                   std::ranges::any_of(each.job.meta.dependencies, is_late);
    }
    if (!is_unknown) continue;
    each.expected.reset();
    late.insert(id);
  }
}

}  // namespace

Result<std::string> why_waits(const Directories& directories, const Rules& rules,
                              const ChangeSetId& id, base::UnixMillis now) {
  Reading reading(directories, rules);
  for (const Stage stage : kWaitingStages) QUARRY_TRY(reading.read(stage));
  if (reading.model.find(id) == nullptr) {
    QUARRY_TRY_ASSIGN(const auto location, directories.find(id));
    if (!location) return std::unexpected(not_here(id.str()));
    const auto job = directories.read(location->stage, location->name);
    const std::string last = !job                   ? std::string(kUnreadable)
                             : job->history.empty() ? ""
                                                    : job->history.back().why;
    return fmt::format("{}: its state is {}{}{}", kNotWaiting, word_of(location->stage),
                       last.empty() ? "" : ": ", last);
  }
  QUARRY_TRY(reading.read_unknown());
  QUARRY_TRY_ASSIGN(auto frozen, frozen_branches(directories));
  reading.model.set_frozen(std::move(frozen));
  const auto stopped = reading.model.stopped(now);
  const auto found = stopped.find(id);
  std::string why = found != stopped.end() ? found->second : reading.model.why_not(id, now);
  const bool is_rollback = reading.model.find(id)->name.type == MoveType::kRollback;
  const std::string halted = why_halted(directories, is_rollback);
  if (why.empty()) return halted.empty() ? std::string(kNothingBlocks) : halted;
  return halted.empty() ? why : why + "; " + halted;
}

Result<void> explain(QueueView& view, const Directories& directories, const Rules& rules,
                     Branches frozen, base::UnixMillis now) {
  Reading reading(directories, rules);
  const auto read = reading.read(view);
  if (!read && read.error().code != ErrorCode::kLimit) return read;
  if (!read) {
    for (JobView& each : view.jobs) each.expected.reset();
    return {};
  }
  Model& model = reading.model;
  model.set_frozen(std::move(frozen));
  const auto stopped = model.stopped(now);
  const std::string halted = why_halted(directories, /*is_rollback=*/false),
                    halted_rollback = why_halted(directories, /*is_rollback=*/true);
  std::int64_t place = 1, stopped_before = 0;
  for (JobView& each : view.jobs) {
    if (is_over(each.stage) || each.stage == Stage::kRun) continue;
    const ChangeSetId& id = each.job.name.id;
    // The expected time includes one execution of each job ahead. Stopped jobs are not executed.
    for (; place < static_cast<std::int64_t>(each.place); ++place) {
      const JobLocation& ahead = view.waiting[static_cast<std::size_t>(place - 1)];
      stopped_before += stopped.contains(ahead.name.id) ? 1 : 0;
    }
    if (each.expected) *each.expected = *each.expected * (place - stopped_before) / place;
    const std::string& halt = each.job.name.type == MoveType::kRollback ? halted_rollback : halted;
    const auto reason = stopped.find(id);
    if (reason != stopped.end() || !halt.empty()) each.expected.reset();
    if (each.stage == Stage::kPrequeue || !each.remark.empty()) continue;
    each.remark = reason != stopped.end() ? reason->second : model.why_not(id, now);
    each.remark = one_line(each.remark.empty() ? halt : each.remark, kMaxWhy);
  }
  subtract_running_time(view, model, now);
  return {};
}

Result<std::vector<JobLocation>> rollback_closure(const Directories& directories,
                                                  const std::vector<ChangeSetId>& ids,
                                                  std::size_t limit) {
  const Rules usual;
  Reading reading(directories, usual);
  for (std::size_t i = 0; i < kStages; ++i) QUARRY_TRY(reading.read(static_cast<Stage>(i)));
  QUARRY_TRY_ASSIGN(const auto closure, reading.model.closure(ids, limit, /*will_land=*/true));
  std::vector<JobLocation> locations;
  for (const ChangeSetId& id : closure) {
    if (const ModelJob* known = reading.model.find(id))
      locations.push_back({known->stage, known->name});
  }
  return locations;
}

}  // namespace quarry::changes
