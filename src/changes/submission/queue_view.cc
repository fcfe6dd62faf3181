#include "quarry/changes/queue_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "quarry/changes/change_log.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::Result;
using std::chrono::milliseconds;

constexpr std::size_t kMeasured = 20;  // landings that the expectation comes from

using Waiting = std::vector<Place>;

Result<std::vector<ChangeSetName>> names_of(const Directories& directories, Stage stage) {
  auto names = directories.list(stage);
  if (!names && names.error().code == ErrorCode::kNotFound) return std::vector<ChangeSetName>();
  return names;
}

/// A job that cannot be read is shown with its name and why; nothing: it has moved on.
std::optional<JobView> view_at(const Directories& directories, const Place& place) {
  JobView view;
  view.stage = place.stage;
  auto job = directories.read(place.stage, place.name);
  if (job) {
    view.job = std::move(*job);
    return view;
  }
  if (job.error().code == ErrorCode::kNotFound) return std::nullopt;
  view.job.name = place.name;
  view.job.meta.type = place.name.type;
  view.is_new = job.error().code == ErrorCode::kBusy;
  if (!view.is_new) view.remark = "its job file cannot be read: see the server's log";
  if (const auto submission = directories.submission_of(place.name)) {
    view.job.submitter = submission->submitter;
  }
  return view;
}

/// From the moment that it ran until it was done; nothing: it did not.
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

std::optional<milliseconds> mean_time(const std::vector<JobView>& over) {
  milliseconds total{0};
  std::int64_t count = 0;
  for (const JobView& view : over) {
    if (view.stage != Stage::kDone || count == kMeasured) continue;
    const auto time = time_of_execution(view.job);
    if (!time) continue;
    total += *time;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return total / count;
}

bool is_shown(const JobView& view, const ViewOptions& options) {
  return options.branch.empty() || view.job.meta.target == options.branch;
}

/// Running ones first, then those that go next.
bool goes_before(const Place& a, const Place& b) {
  const bool a_runs = a.stage == Stage::kRun, b_runs = b.stage == Stage::kRun;
  if (a_runs != b_runs) return a_runs;
  return changes::goes_before(a.name, b.name);
}

Result<void> read_over(const Directories& directories, const ViewOptions& options, QueueView& view,
                       std::vector<JobView>& over) {
  std::vector<Place> places;
  for (std::size_t i = static_cast<std::size_t>(Stage::kDone); i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    QUARRY_TRY_ASSIGN(auto names, names_of(directories, stage));
    view.counts[i] = names.size();
    for (ChangeSetName& name : names) places.push_back({stage, std::move(name)});
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) { return a.name.tai > b.name.tai; });
  for (const Place& place : places) {
    if (over.size() == options.most_over) break;
    auto one = view_at(directories, place);
    if (one && is_shown(*one, options)) over.push_back(std::move(*one));
  }
  return {};
}

}  // namespace

Result<QueueView> look(const Directories& directories, const ViewOptions& options) {
  QueueView view;
  std::vector<Place> waiting;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Stage::kDone); ++i) {
    const auto stage = static_cast<Stage>(i);
    QUARRY_TRY_ASSIGN(auto names, names_of(directories, stage));
    view.counts[i] = names.size();
    for (ChangeSetName& name : names) waiting.push_back({stage, std::move(name)});
  }
  std::ranges::sort(waiting, [](const Place& a, const Place& b) { return goes_before(a, b); });
  std::vector<JobView> over;
  QUARRY_TRY(read_over(directories, options, view, over));
  const auto mean = mean_time(over);
  for (std::size_t i = 0; i < waiting.size() && view.jobs.size() < options.most_waiting; ++i) {
    auto one = view_at(directories, waiting[i]);
    if (!one || !is_shown(*one, options)) continue;
    one->place = i + 1;
    if (mean) one->expected = *mean * static_cast<std::int64_t>(i + 1);
    view.jobs.push_back(std::move(*one));
  }
  std::ranges::move(over, std::back_inserter(view.jobs));
  return view;
}

Result<JobView> look_at(const Directories& directories, const Place& place) {
  // It moves while we look, and never back and forth so often.
  Place at = place;
  for (int tries = 0; tries < 5; ++tries) {
    if (auto view = view_at(directories, at)) {
      if (auto log = ChangeLog(directories).read(place.name.id)) {
        view->output = std::move(log->output);
      }
      return std::move(*view);
    }
    QUARRY_TRY_ASSIGN(const auto found, directories.find(place.name.id));
    if (!found) break;
    at = *found;
  }
  return std::unexpected(not_here(place.name.id.str()));
}

}  // namespace quarry::changes
