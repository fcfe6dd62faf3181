// A queue as it is shown to users: a snapshot of its folders, which everybody who may see the
// repository may read. Waiting jobs are in order of execution, finished ones latest first. Only the
// job files of one page are read, however long the queue is; a bookmark marks where the next page
// begins.
//
// The queue's endpoint and `quarry queue --json` print it as JSON (quarry-changes(7)).
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
  /// Whether the job has not been checked yet; then only its name and its submitter are known.
  bool is_new = false;
  /// Position among the waiting jobs, counted from 1; 0 if it is not waiting.
  std::uint64_t place = 0;
  /// Estimated time until it is done, if it is not delayed.
  std::optional<std::chrono::milliseconds> expected;
  /// Other information to show: what it waits for, or why it cannot be read.
  std::string remark;
  /// Output of its execution: conflicts, or the output of a gate. Only set by view_job().
  std::string output;
};

/// JOB in one line: the first line of its comment. For a rollback without a comment, what it rolls
/// back.
std::string headline(const Job& job);

struct QueueView {
  std::array<std::uint64_t, kStages> counts{};  // number of jobs in each stage, including those
                                                // that are not shown
  std::vector<JobView> jobs;
  /// If a list has more jobs: the bookmark at which to continue.
  std::string more_waiting;
  std::string more_over;
};

/// The last job of a page. It marks a position in the list even after that job has moved.
struct Bookmark {
  Stage stage = Stage::kPending;  // the list to which the bookmark belongs: kRun, kPending or kDone
  ChangeSetName name;

  static std::optional<Bookmark> parse(std::string_view text);
  std::string text() const;
};

using StageSet = std::array<bool, kStages>;
StageSet all_stages();
/// Parses a list of folders, separated by commas, in which `waiting` and `over` stand for several
/// folders. An empty list means all.
std::optional<StageSet> stages_named(std::string_view words);
/// A sentence for users that lists the words that stages_named() accepts.
std::string stages_help();

struct ViewOptions {
  std::size_t max_waiting = 200;
  std::size_t max_over = 50;
  std::string branch = {};  // only jobs for this branch; empty for all
  StageSet stages = all_stages();
  /// If set, views only the list of this bookmark, continuing after it.
  std::optional<Bookmark> after = {};
};
/// Maximum number of job files that are read for a list. If most of them are for other branches, a
/// page may have fewer jobs than requested although more exist.
inline constexpr std::size_t kMaxViewed = 2'000;

/// Views the queue in DIRECTORIES. A queue that was never used is empty. Errors: those of file
/// operations.
base::Result<QueueView> view_queue(const Directories& directories, const ViewOptions& options);
/// Views the change set at LOCATION. Errors: kNotFound, those of file operations.
base::Result<JobView> view_job(const Directories& directories, const JobLocation& location);

/// A JSON object on one line. It has all members if WHOLE, otherwise a summary.
std::string json_of(const JobView& view, bool whole);
/// MORE has additional members of the object, each in the form `"name":value,`.
std::string json_of(const QueueView& view, std::string_view more = {});

}  // namespace quarry::changes
