#include "cleaning.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/changes/moved.h"

namespace quarry::changes {
namespace {

using std::chrono::milliseconds;

// Limits for one turn on a fast disk. On a slow disk, a turn ends earlier, at kLongestTurn.
constexpr std::size_t kReadAtOnce = 500;    // job files
constexpr std::size_t kForgetAtOnce = 200;  // change sets
constexpr std::size_t kRound = 10;          // change sets, or logs, deleted per sync of the folders
constexpr std::size_t kRoundsAtOnce = 40;
constexpr std::int64_t kLongestTurn = 50;  // milliseconds; no round begins after this time
constexpr std::int64_t kPause = 100;       // milliseconds between turns
constexpr milliseconds kLongestRest = std::chrono::hours{6};  // between passes
constexpr milliseconds kShortestRest{1'000};
constexpr std::array kOver = {Stage::kDone, Stage::kFail, Stage::kTerm, Stage::kAbandon};

/// Removes the last CHUNK items of ALL, or all if there are fewer, and returns them.
template <typename Item>
std::vector<Item> take_last(std::vector<Item>& all, std::size_t chunk) {
  const auto from = all.end() - static_cast<std::ptrdiff_t>(std::min(chunk, all.size()));
  std::vector<Item> taken(std::make_move_iterator(from), std::make_move_iterator(all.end()));
  all.erase(from, all.end());
  return taken;
}

}  // namespace

/// Starts a pass over all finished jobs, unless all of them are new.
Result<void> Cleaning::begin(base::UnixMillis now) {
  const milliseconds keep = context_.options.rules.keep;
  Pass& pass = pass_.emplace();
  pass.before = {now.value - keep.count()};
  bool is_one_old = false;
  for (const Stage stage : kOver) {
    QUARRY_TRY_ASSIGN(auto names, context_.directories.list(stage));
    for (ChangeSetName& name : names) {
      // A job that was submitted at or after `before` is new, because it cannot have finished
      // before that time.
      is_one_old = is_one_old || time_of_tai64n(name.tai) < pass.before;
      pass.locations.push_back({.stage = stage, .name = std::move(name)});
    }
  }
  QUARRY_TRY(find_logs());
  if (!is_one_old) pass.locations.clear();
  return {};
}

Result<void> Cleaning::find_logs() {
  std::set<ChangeSetId> there;
  for (const JobLocation& location : pass_->locations) there.insert(location.name.id);
  const auto open = tracker_.open();
  there.insert(open.begin(), open.end());
  const auto folder = context_.directories.log_of(ChangeSetId()).parent_path();
  QUARRY_TRY_ASSIGN(const auto files, context_.directories.files().list(folder));
  for (const std::string& file : files) {
    const auto id = ChangeSetId::parse(file);
    if (id && !there.contains(*id)) pass_->logs.push_back(*id);
  }
  return {};
}

Result<bool> Cleaning::has_job(const LogRecord& record) const {
  if (!record.name) return false;
  QUARRY_TRY_ASSIGN(const auto stage, context_.directories.stage_of(*record.name));
  return stage.has_value();
}

/// Returns whether the log of ID is old and not needed. A log without a name belongs to a missing
/// job, and was created by jobs that depend on the missing job. The log is needed as long as one of
/// these jobs exists.
Result<bool> Cleaning::is_orphan(const ChangeSetId& id) const {
  const ChangeLog log(context_.directories);
  QUARRY_TRY_ASSIGN(const LogRecord record, log.read(id));
  if (record.name && time_of_tai64n(record.name->tai) >= pass_->before) return false;
  QUARRY_TRY_ASSIGN(bool is_used, has_job(record));
  for (const ChangeSetId& owner : record.supports) {
    if (is_used || record.name) break;
    QUARRY_TRY_ASSIGN(is_used, has_job(log.read(owner).value_or(LogRecord())));
  }
  return !is_used;
}

Result<void> Cleaning::remove_logs() {
  for (const ChangeSetId& id : take_last(pass_->logs, kRound)) {
    const auto is_nobodys = is_orphan(id);
    if (!is_nobodys && is_nobodys.error().code == ErrorCode::kNotFound) continue;
    if (!is_nobodys) return std::unexpected(is_nobodys.error());
    if (*is_nobodys)
      QUARRY_TRY(context_.directories.files().remove(context_.directories.log_of(id)));
  }
  return {};
}

Result<void> Cleaning::read_some() {
  for (const JobLocation& location : take_last(pass_->locations, kReadAtOnce)) {
    const auto job = context_.directories.read(location.stage, location.name);
    if (!job) {
      // Skip a job that is being retried. Also skip an invalid or unreadable file, because an
      // administrator has to repair it.
      if (job.error().code != ErrorCode::kIo) continue;
      return std::unexpected(job.error());
    }
    pass_->past.add(model_job_of(*job, location.stage, context_.options.rules),
                    job->ended() < pass_->before);
  }
  if (!pass_->locations.empty()) return {};
  pass_->past.complete();
  pass_->is_complete = true;
  return {};
}

/// Returns whether the dependencies of all unfinished jobs are known.
Result<bool> Cleaning::may_go_on() {
  QUARRY_TRY_ASSIGN(const auto unseen, context_.directories.list(Stage::kPrequeue));
  if (!unseen.empty()) return false;
  // Reads jobs that have left prequeue/ in the meantime.
  QUARRY_TRY(tracker_.scan({Stage::kQueue}));
  for (const ChangeSetId& id : tracker_.open()) {
    const ModelJob& known = *tracker_.model().find(id);
    const bool is_rollback = known.name.type == MoveType::kRollback;
    if (is_rollback && (known.stage == Stage::kPending || known.stage == Stage::kRun)) return false;
    if (!pass_->asked.insert(id).second) continue;
    for (const ChangeSetId& needed : known.dependencies) pass_->past.need(needed);
    if (!is_rollback) continue;
    // Keep the jobs that the rollback lists. A rollback that was interrupted and then held might
    // still have to return stopped jobs to their previous stages.
    const auto found = job_anywhere(context_.directories, known.name);
    if (!found) continue;
    for (const ChangeSetId& listed : found->second.closure) pass_->past.need(listed);
  }
  return true;
}

Result<void> Cleaning::forget_some() {
  const std::int64_t until = context_.clock.now().value + kLongestTurn;
  std::size_t left = kForgetAtOnce;
  for (std::size_t round = 0; round < kRoundsAtOnce && left > 0; ++round) {
    const std::vector<JobLocation> locations = pass_->past.next(std::min(left, kRound));
    if (locations.empty()) {
      end(context_.clock.now());
      return {};
    }
    left -= locations.size();
    QUARRY_TRY_ASSIGN(const auto gone, context_.directories.forget(locations, pass_->before));
    pass_->forgotten += gone.size();
    for (const ChangeSetId& id : gone) {
      pass_->past.gone(id);
      QUARRY_TRY(tracker_.locate(id));
    }
    if (context_.clock.now().value >= until) break;
  }
  return {};
}

void Cleaning::end(base::UnixMillis now) {
  if (pass_->forgotten > 0) {
    base::log(base::LogLevel::kNotice, "{}: deleted {} change sets that finished before {}",
              context_.options.base.string(), pass_->forgotten, base::iso_seconds(pass_->before));
  }
  pass_.reset();
  const milliseconds rest =
      std::clamp(context_.options.rules.keep / 100, kShortestRest, kLongestRest);
  next_pass_ = {now.value + rest.count()};
}

Result<void> Cleaning::go_on() {
  if (!pass_->logs.empty()) return remove_logs();
  if (!pass_->is_complete) return read_some();
  QUARRY_TRY_ASSIGN(const bool may, may_go_on());
  if (!may) {
    next_.reset();
    return {};
  }
  return forget_some();
}

Result<void> Cleaning::run(Scan scan) {
  const base::UnixMillis now = context_.clock.now();
  const bool is_due = next_ && *next_ <= now;
  if (context_.options.rules.keep.count() == 0 || (!is_due && scan != Scan::kAll)) return {};
  if (!pass_ && now < next_pass_) return {};
  next_ = {now.value + kPause};
  auto done = pass_ ? go_on() : begin(now);
  if (!done) end(now);
  if (!pass_) next_.reset();
  return done;
}

}  // namespace quarry::changes
