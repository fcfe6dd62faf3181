// A queue as shown to users: a snapshot of its folders, readable by everybody who may see the
// repository. Waiting jobs are in order of execution, finished ones latest first. However long the
// queue is, only the job files of one page are read; a bookmark continues after it.
//
// The endpoint and `quarry queue --json` print it as JSON (quarry-changes(7)).
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

/// Content types of posted change sets and actions. No web form can send these.
inline constexpr std::string_view kTarballType = "application/x-quarry-change-set";
inline constexpr std::string_view kActionType = "application/x-quarry-action";

struct JobView {
  Job job;
  Stage stage = Stage::kPrequeue;
  /// Not checked yet: only its name and its submitter are known.
  bool is_new = false;
  /// Position among the waiting jobs, from 1; 0: not waiting.
  std::uint64_t place = 0;
  /// Estimated time until it is done if nothing delays it.
  std::optional<std::chrono::milliseconds> expected;
  /// Anything else to show: why it cannot be read, what it waits for.
  std::string remark;
  /// Output of its execution: conflicts, output of a gate. Only from view_job().
  std::string output;
};

/// JOB in one line: the first of its comment, or what it rolls back if it is a rollback without
/// one.
std::string headline(const Job& job);

struct QueueView {
  std::array<std::uint64_t, kStages> counts{};  // of all jobs, shown or not
  std::vector<JobView> jobs;
  /// If a list has more jobs: the bookmark to continue from.
  std::string more_waiting;
  std::string more_over;
};

/// The last job of a page. It marks a position in the list even after that job has moved.
struct Bookmark {
  Stage stage = Stage::kPending;  // which list: kRun, kPending or kDone
  ChangeSetName name;

  static std::optional<Bookmark> parse(std::string_view text);
  std::string text() const;
};

using StageSet = std::array<bool, kStages>;
StageSet all_stages();
/// Parses a list of folders, `waiting` and `over`, separated by commas; "": all.
std::optional<StageSet> stages_named(std::string_view words);
/// A sentence that lists these words.
std::string stages_help();

struct ViewOptions {
  std::size_t max_waiting = 200;
  std::size_t max_over = 50;
  std::string branch = {};  // only this branch; "": all
  StageSet stages = all_stages();
  /// Only the list of this bookmark, continuing after it.
  std::optional<Bookmark> after = {};
};
/// Limit on job files read for a list. If most of them are for other branches, a page may have
/// fewer jobs than requested although there are more.
inline constexpr std::size_t kMaxViewed = 2'000;

/// Views the queue in DIRECTORIES; one that was never used is empty. Errors: those of file
/// operations.
base::Result<QueueView> view_queue(const Directories& directories, const ViewOptions& options);
/// Views the change set at LOCATION. Errors: kNotFound; those of file operations.
base::Result<JobView> view_job(const Directories& directories, const JobLocation& location);

/// A JSON object on one line: a summary, or everything if WHOLE.
std::string json_of(const JobView& view, bool whole);
/// MORE: additional members of the object, each as `"name":value,`.
std::string json_of(const QueueView& view, std::string_view more = {});

}  // namespace quarry::changes
