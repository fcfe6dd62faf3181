#include "quarry/changes/explanation.h"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

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
  /// Reads the dependencies of known jobs.
  Result<void> read_unknown() {
    // Stop when a pass does not reduce the number of unknown jobs. The remaining jobs probably do
    // not exist.
    std::size_t left = model.unknown().size();
    while (left > 0) {
      for (const ChangeSetId& id : model.unknown()) {
        QUARRY_TRY_ASSIGN(const auto location, directories_.find(id));
        if (location) QUARRY_TRY(put(location->stage, location->name));
      }
      const std::size_t now = model.unknown().size();
      if (now >= left) break;
      left = now;
    }
    return {};
  }

  Model model;

 private:
  Result<void> put(Stage stage, const ChangeSetName& name) {
    if (++files_ > kMaxExplained) {
      return fail(ErrorCode::kLimit, "more than {} change sets", kMaxExplained);
    }
    const auto job = directories_.read(stage, name);
    if (job) {
      model.put(model_job_of(*job, stage, rules_));
    } else if (job.error().code != ErrorCode::kNotFound) {  // it has moved, so skip it
      ModelJob known;
      known.name = name;
      known.stage = stage;
      known.is_unreadable = job.error().code != ErrorCode::kBusy;
      model.put(std::move(known));
    }
    return {};
  }

  const Directories& directories_;
  const Rules& rules_;
  std::size_t files_ = 0;
};

/// Free space, in bytes, below which a disk is treated as full, because a job file needs more
/// space.
constexpr std::uint64_t kNoRoom = std::uint64_t{16} << 10;

/// Returns a remark for waiting jobs if the queue has stopped, otherwise an empty string.
std::string why_stuck(const Directories& directories) {
  if (const std::string reason = stop_reason(directories); !reason.empty()) {
    return "; the queue has stopped: " + reason;
  }
  struct statvfs disk {};
  if (::statvfs(directories.base().c_str(), &disk) != 0) return {};
  const std::uint64_t room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const bool is_full = room < kNoRoom || (disk.f_files > 0 && disk.f_favail == 0);
  return is_full ? "; the disk of the queue is full: processing continues when space is available"
                 : "";
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
    return fmt::format("it is not waiting: it is in {}/{}{}", word_of(location->stage),
                       last.empty() ? "" : ": ", last);
  }
  QUARRY_TRY(reading.read_unknown());
  QUARRY_TRY_ASSIGN(auto frozen, frozen_branches(directories));
  reading.model.set_frozen(std::move(frozen));
  std::string why = reading.model.why_not(id, now);
  if (why.empty()) why = "nothing blocks it: it is ready";
  return why + why_stuck(directories);
}

void explain(QueueView& view, const Rules& rules, Branches frozen, base::UnixMillis now) {
  std::map<ChangeSetId, JobView*> open;
  for (JobView& each : view.jobs) {
    if (!is_over(each.stage)) open.emplace(each.job.name.id, &each);
  }
  Model model;
  for (const auto& [id, each] : open) {
    ModelJob known = model_job_of(each->job, each->stage, rules);
    std::erase_if(known.dependencies,
                  [&](const ChangeSetId& other) { return !open.contains(other); });
    model.put(std::move(known));
  }
  model.set_frozen(std::move(frozen));
  const auto is_stuck = [&](const ChangeSetId& id) {
    const auto found = open.find(id);
    return found != open.end() && !found->second->expected;
  };
  for (JobView& each : view.jobs) {
    const ChangeSetId& id = each.job.name.id;
    if (is_over(each.stage) || each.stage == Stage::kRun || each.stage == Stage::kPrequeue)
      continue;
    if (each.remark.empty()) each.remark = one_line(model.why_not(id, now), kMaxWhy);
    if (model.is_passive(id) || std::ranges::any_of(each.job.meta.precursors, is_stuck)) {
      each.expected.reset();
    }
  }
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
