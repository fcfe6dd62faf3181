// A snapshot of a queue for users. Every user who is allowed to read the repository is allowed to
// see the queue. Waiting jobs are in order of execution. Finished jobs are sorted by time, latest
// first. The queue is viewed in pages, and only the job files of one page are read. A bookmark
// marks the beginning of the next page.
//
// The queue's endpoint and `quarry queue --json` print the view as JSON (quarry-changes(7)).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/job.h"

namespace quarry::changes {

/// Content types of posted change sets and actions. Web forms cannot send these types.
inline constexpr std::string_view kTarballType = "application/x-quarry-change-set";
inline constexpr std::string_view kActionType = "application/x-quarry-action";

struct JobView {
  Job job;
  Stage stage = Stage::kPrequeue;
  /// Whether the job has not been checked yet. In this case, only its name and its submitter are
  /// known.
  bool is_new = false;
  /// Position among the waiting jobs, counted from 1; 0 if it is not waiting.
  std::uint64_t place = 0;
  /// Beginning of the execution, if the job is running.
  std::optional<base::UnixMillis> began;
  /// Estimated time until the job is done, if it is not delayed.
  std::optional<std::chrono::milliseconds> expected;
  bool is_late = false;  // it is running, and takes longer than usual
  /// A sentence that says what the job waits for, or why it cannot be read.
  std::string remark;
  /// Output of the job's execution: conflicts, or the output of a gate. Set only by view_job().
  std::string output;
  /// The change sets that depend on this one. Set only by view_job().
  std::vector<ChangeSetId> dependents;
};

/// Returns a description of JOB in one line: the first line of its comment or, for a rollback
/// without a comment, the ids that it rolls back.
std::string headline(const Job& job);

struct QueueView {
  std::array<std::uint64_t, kStages> counts{};  // all jobs in each stage
  std::vector<JobView> jobs;
  /// All waiting jobs up to the last one in `jobs`, in order. `jobs` can lack some of them.
  std::vector<JobLocation> waiting;
  /// The bookmarks at which the lists continue. Empty if all jobs are shown.
  std::string more_waiting;
  std::string more_over;
  std::string stopped;  // the reason if the queue has stopped
};

/// The last job of a page. It marks a position in the list, even if the job moves afterwards.
struct Bookmark {
  Stage stage = Stage::kPending;  // the list to which the bookmark belongs: kRun, kPending or kDone
  ChangeSetName name;

  static std::optional<Bookmark> parse(std::string_view text);
  std::string text() const;
};

using StageSet = std::array<bool, kStages>;
StageSet all_stages();
/// Parses a list of states, separated by commas, in which `waiting` and `over` stand for several
/// states. An empty list means all states.
std::optional<StageSet> stages_named(std::string_view words);
/// Returns a sentence for users that lists the words that stages_named() accepts.
std::string stages_help();

struct ViewOptions {
  std::size_t max_waiting = 200;
  std::size_t max_over = 50;
  std::string branch = {};  // only jobs for this branch; empty for all
  StageSet stages = all_stages();
  /// If set, only jobs after this bookmark are viewed, in the list to which it belongs.
  std::optional<Bookmark> after = {};
};
/// Maximum number of job files that are read for a list. If most of these jobs are for other
/// branches, a page can have fewer jobs than requested even if the list has more.
inline constexpr std::size_t kMaxViewed = 2'000;

/// Returns a view of the queue in DIRECTORIES. The view is empty if the queue was never used.
/// Passes on errors from file operations.
Result<QueueView> view_queue(const Directories& directories, const ViewOptions& options);
/// Returns a view of the change set at LOCATION. Errors: kNotFound, errors from file operations.
Result<JobView> view_job(const Directories& directories, const JobLocation& location);

/// Returns VIEW as a JSON object on one line, with all members if WHOLE is set, otherwise as a
/// summary.
std::string json_of(const JobView& view, bool whole);
/// Returns VIEW as a JSON object. MORE has additional members of the object, each in the form
/// `"name":value,`.
std::string json_of(const QueueView& view, std::string_view more = {});

}  // namespace quarry::changes
