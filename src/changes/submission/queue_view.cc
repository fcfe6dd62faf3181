#include "quarry/changes/queue_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "quarry/changes/change_log.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/model.h"

namespace quarry::changes {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMeasured = 20;  // number of executions that are used for the estimate

Result<std::vector<ChangeSetName>> names_of(const Directories& directories, Stage stage) {
  auto names = directories.list(stage);
  if (!names && names.error().code == ErrorCode::kNotFound) return std::vector<ChangeSetName>();
  return names;
}

/// Returns the view of a job. If the job cannot be read, the view has its name and the error.
/// Returns nullopt if the job has moved.
std::optional<JobView> view_at(const Directories& directories, const JobLocation& location) {
  JobView view;
  view.stage = location.stage;
  auto job = directories.read(location.stage, location.name);
  if (job) {
    view.job = std::move(*job);
    // A hold ends with the job, but stays in its file in case the job is retried.
    if (is_over(location.stage)) view.job.held.clear();
    if (location.stage == Stage::kRun) {
      const auto log = ChangeLog(directories).read(location.name.id);
      // Without a log, use the time at which the job was ready.
      view.began = log && log->began ? *log->began : view.job.ended();
    }
    return view;
  }
  if (job.error().code == ErrorCode::kNotFound) return std::nullopt;
  view.job.name = location.name;
  view.job.meta.type = location.name.type;
  view.is_new = job.error().code == ErrorCode::kBusy;
  if (!view.is_new) view.remark = kUnreadable;
  if (const auto submission = directories.submission_of(location.name)) {
    view.job.submitter = submission->submitter;
  }
  return view;
}

/// Returns the time from the start of JOB until it was done, or nullopt if it is not done.
std::optional<milliseconds> time_of_execution(const Job& job) {
  std::optional<base::UnixMillis> began;
  for (const HistoryLine& line : job.history) {
    if (line.state == letter_of(Stage::kRun)) began = line.time;
    if (line.state == letter_of(Stage::kDone) && began) {
      return milliseconds(std::max<std::int64_t>(line.time.value - began->value, 0));
    }
  }
  return std::nullopt;
}

/// Returns the mean execution time of the jobs in DONE, or nullopt if it is unknown for all of
/// them.
std::optional<milliseconds> mean_time(const Directories& directories,
                                      const std::vector<JobLocation>& done) {
  milliseconds total{0};
  std::int64_t count = 0;
  for (const JobLocation& location : done) {
    const auto job = directories.read(location.stage, location.name);
    const auto time = job ? time_of_execution(*job) : std::nullopt;
    if (!time) continue;
    total += *time;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return total / count;
}

/// Compares waiting jobs: running jobs come first, then the others in order of execution.
class WaitingOrder {
 public:
  explicit WaitingOrder(std::vector<RaisedJob> raised) : raised_(std::move(raised)) {
    for (std::size_t i = 0; i < raised_.size(); ++i) numbers_.emplace(raised_[i].id, i);
  }

  bool operator()(const JobLocation& a, const JobLocation& b) const {
    const bool a_runs = a.stage == Stage::kRun, b_runs = b.stage == Stage::kRun;
    if (a_runs != b_runs) return a_runs;
    const auto [name_a, number_a] = place_of(a);
    const auto [name_b, number_b] = place_of(b);
    return *name_a == *name_b ? number_a < number_b : goes_before(*name_a, *name_b);
  }

 private:
  /// Returns the sort key of the job at LOCATION. For a raised job: the name of the urgent job that
  /// raises it, and its number among the raised jobs. For another job: its own name, and a higher
  /// number.
  std::pair<const ChangeSetName*, std::size_t> place_of(const JobLocation& location) const {
    const auto found = numbers_.find(location.name.id);
    if (found == numbers_.end()) return {&location.name, raised_.size()};
    return {&raised_[found->second].by, found->second};
  }

  std::vector<RaisedJob> raised_;
  std::map<ChangeSetId, std::size_t> numbers_;
};

// All names begin with ID_TAI_, and these two parts have constant lengths.
constexpr std::size_t kId = 16;
constexpr std::size_t kTai = 24;

/// Returns whether A is newer than B. Compares the times, then the ids. A and B must be names of
/// jobs.
bool is_newer(std::string_view a, std::string_view b) {
  const int order = a.substr(kId + 1, kTai).compare(b.substr(kId + 1, kTai));
  return order != 0 ? order > 0 : a.substr(0, kId) > b.substr(0, kId);
}

/// Returns whether FILE might be the name of a job. This fast check only looks for the separators.
bool may_be_job(std::string_view file) {
  return file.size() > kId + 1 + kTai && file[kId] == '_' && file[kId + 1 + kTai] == '_';
}

/// Selects the newest of many jobs, using only their file names.
class Newest {
 public:
  /// Keeps the LIMIT newest jobs that were submitted before BEFORE.
  explicit Newest(std::size_t limit, std::optional<ChangeSetName> before = std::nullopt)
      : limit_(limit), before_(before ? before->text() : std::string()) {}

  void offer(Stage stage, std::string_view file);
  std::vector<JobLocation> take();

 private:
  struct Kept {
    Stage stage;
    std::string file;
  };

  std::size_t limit_;
  std::string before_;      // as a file name; empty for no limit
  std::vector<Kept> kept_;  // a heap with the oldest on top
};

void Newest::offer(Stage stage, std::string_view file) {
  if (limit_ == 0 || !may_be_job(file)) return;
  if (!before_.empty() && !is_newer(before_, file)) return;
  if (kept_.size() == limit_ && !is_newer(file, kept_.front().file)) return;
  if (!ChangeSetName::parse(file)) return;
  const auto newer = [](const Kept& a, const Kept& b) { return is_newer(a.file, b.file); };
  kept_.push_back({stage, std::string(file)});
  std::ranges::push_heap(kept_, newer);
  if (kept_.size() <= limit_) return;
  std::ranges::pop_heap(kept_, newer);
  kept_.pop_back();
}

std::vector<JobLocation> Newest::take() {
  std::ranges::sort(kept_, [](const Kept& a, const Kept& b) { return is_newer(a.file, b.file); });
  std::vector<JobLocation> locations;
  locations.reserve(kept_.size());
  for (const Kept& each : kept_)
    locations.push_back({each.stage, *ChangeSetName::parse(each.file)});
  kept_.clear();
  return locations;
}

/// A candidate for a list.
struct Listed {
  JobLocation location;
  std::uint64_t rank = 0;  // position of a waiting job, counted from 1
};

struct Page {
  std::vector<JobView> jobs;
  std::string more;
};

/// Returns the first LIMIT jobs of LISTED that match OPTIONS.
Page page_of(const Directories& directories, const std::vector<Listed>& listed,
             const ViewOptions& options, std::size_t limit) {
  Page page;
  if (limit == 0) return page;
  std::size_t read = 0;
  for (const Listed& each : listed) {
    if (page.jobs.size() == limit || read == kMaxViewed) {
      const JobLocation& last = listed[read - 1].location;
      page.more = Bookmark{.stage = last.stage, .name = last.name}.text();
      break;
    }
    ++read;
    auto one = view_at(directories, each.location);
    if (!one || (!options.branch.empty() && one->job.meta.target != options.branch)) continue;
    one->place = each.rank;
    page.jobs.push_back(std::move(*one));
  }
  return page;
}

bool is_list_of(const ViewOptions& options, bool over) {
  return !options.after || is_over(options.after->stage) == over;
}

/// Lists the waiting jobs that match OPTIONS, and counts all waiting jobs. Puts all waiting jobs into
/// VIEW, in order.
Result<std::vector<Listed>> list_waiting(const Directories& directories, const ViewOptions& options,
                                         QueueView& view) {
  std::vector<JobLocation>& waiting = view.waiting;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Stage::kDone); ++i) {
    const auto stage = static_cast<Stage>(i);
    QUARRY_TRY_ASSIGN(auto names, names_of(directories, stage));
    view.counts[i] = names.size();
    for (ChangeSetName& name : names) waiting.push_back({stage, std::move(name)});
  }
  std::vector<Listed> listed;
  if (!is_list_of(options, /*over=*/false)) return listed;
  const WaitingOrder goes_first(noted_raised(directories));
  std::ranges::sort(waiting, goes_first);
  std::optional<JobLocation> after;
  if (options.after)
    after = JobLocation{.stage = options.after->stage, .name = options.after->name};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (!options.stages[static_cast<std::size_t>(waiting[i].stage)]) continue;
    if (after && !goes_first(*after, waiting[i])) continue;
    listed.push_back({.location = waiting[i], .rank = i + 1});
  }
  return listed;
}

/// Offers the finished jobs that match OPTIONS to OVER, and all landed jobs to DONE. Counts all
/// finished jobs. Does not put the names in a list, because there can be too many.
Result<void> offer_over(const Directories& directories, const ViewOptions& options, QueueView& view,
                        Newest& over, Newest& done) {
  for (std::size_t i = static_cast<std::size_t>(Stage::kDone); i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    const auto visited =
        directories.files().visit(directories.folder(stage), [&](std::string_view file) {
          if (!may_be_job(file)) return;
          ++view.counts[i];
          if (options.stages[i]) over.offer(stage, file);
          if (stage == Stage::kDone) done.offer(stage, file);
        });
    if (!visited && visited.error().code != ErrorCode::kNotFound) return visited;
  }
  return {};
}

}  // namespace

std::string headline(const Job& job) {
  const std::string& comment = job.meta.comment;
  const std::size_t begin = comment.find_first_not_of(" \t\n");
  if (begin != comment.npos) return comment.substr(begin, comment.find('\n', begin) - begin);
  if (job.name.type != MoveType::kRollback) return {};
  constexpr std::size_t kTold = 5, kDigits = 8;
  std::string text = "roll back";
  const auto& ids = job.meta.dependencies;
  for (std::size_t i = 0; i < ids.size() && i < kTold; ++i) {
    text += fmt::format("{}{}", i == 0 ? " " : ", ", ids[i].str().substr(0, kDigits));
  }
  return ids.size() > kTold ? text + ", …" : text;
}

Result<QueueView> view_queue(const Directories& directories, const ViewOptions& options) {
  QueueView view;
  view.stopped = stop_reason(directories);
  QUARRY_TRY_ASSIGN(const auto waiting, list_waiting(directories, options, view));
  // Select one job more than is shown or read, to find out whether more jobs exist.
  const std::size_t limit = options.branch.empty() ? options.max_over : kMaxViewed;
  Newest over(options.max_over > 0 && is_list_of(options, /*over=*/true) ? limit + 1 : 0,
              options.after ? std::optional(options.after->name) : std::nullopt);
  Newest done(options.max_waiting > 0 && !waiting.empty() ? kMeasured : 0);
  QUARRY_TRY(offer_over(directories, options, view, over, done));
  Page page = page_of(directories, waiting, options, options.max_waiting);
  view.more_waiting = std::move(page.more);
  view.jobs = std::move(page.jobs);
  view.waiting.resize(view.jobs.empty() ? 0 : view.jobs.back().place);
  if (const auto mean = mean_time(directories, done.take())) {
    for (JobView& each : view.jobs) {
      const std::uint64_t executions = each.stage == Stage::kRun ? 1 : each.place;
      each.expected = *mean * static_cast<std::int64_t>(executions);
    }
  }
  std::vector<Listed> listed;
  for (JobLocation& location : over.take()) listed.push_back({.location = std::move(location)});
  page = page_of(directories, listed, options, options.max_over);
  view.more_over = std::move(page.more);
  std::ranges::move(page.jobs, std::back_inserter(view.jobs));
  return view;
}

Result<JobView> view_job(const Directories& directories, const JobLocation& location) {
  // Retry if the job moves, but not without limit.
  JobLocation at = location;
  for (int tries = 0; tries < 5; ++tries) {
    if (auto view = view_at(directories, at)) {
      const ChangeLog logs(directories);
      if (auto log = logs.read(location.name.id)) {
        view->output = std::move(log->output);
        for (const ChangeSetId& id : log->supports) {
          // Skip deleted change sets, which do not have a log. Skip rollbacks too, because they do
          // not depend on the change sets that they list.
          const auto name = logs.name_of(id);
          if (name && name->type != MoveType::kRollback) view->dependents.push_back(id);
        }
      }
      return std::move(*view);
    }
    QUARRY_TRY_ASSIGN(const auto found, directories.find(location.name.id));
    if (!found) break;
    at = *found;
  }
  return std::unexpected(not_here(location.name.id.str()));
}

}  // namespace quarry::changes
