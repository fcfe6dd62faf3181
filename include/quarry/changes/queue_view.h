// A queue as people are shown it: read from its folders, as it is at that moment, by whoever may see
// the repository. What waits stands in the order in which it goes, what is over with the latest
// first. Of a queue with ten thousand that wait and a hundred thousand that are over no more job
// files are read than one page shows; whoever wants more goes on where that page ended.
//
// The JSON of it is what the endpoint answers and `quarry queue --json` prints (quarry-changes(7)).
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

struct JobView {
  Job job;
  Stage stage = Stage::kPrequeue;
  /// Nobody has looked at it yet: all that is known is in its name, and who sent it.
  bool is_new = false;
  /// Of what waits: how many go before it, and itself; 0: it does not wait.
  std::uint64_t place = 0;
  /// How long it may take until it is done, if nothing is in its way.
  std::optional<std::chrono::milliseconds> expected;
  /// What is to be said of it beside: why it cannot be read, what it waits for.
  std::string remark;
  /// What its execution said: conflicts, a gate's output. Of look_at() alone.
  std::string output;
};

/// What JOB is about, in a line: the first of its comment, or what a rollback without one takes back.
std::string headline(const Job& job);

struct QueueView {
  std::array<std::uint64_t, kStages> counts{};  // of all, whatever is shown
  std::vector<JobView> jobs;
  /// Where there are more of a list: the text of the bookmark that they come after.
  std::string more_waiting;
  std::string more_over;
};

/// The last one of a page. It holds its place in the list for as long as people may take, though
/// that very job be gone by then.
struct Bookmark {
  Stage stage = Stage::kPending;  // which list it was in: kRun, kPending or kDone
  ChangeSetName name;

  static std::optional<Bookmark> parse(std::string_view text);
  std::string text() const;
};

using StageSet = std::array<bool, kStages>;
StageSet all_stages();
/// Of WORDS with commas between them: folders, `waiting` and `over`; "": all.
std::optional<StageSet> stages_named(std::string_view words);
/// What those words are, as a sentence.
std::string stages_help();

struct ViewOptions {
  std::size_t most_waiting = 200;
  std::size_t most_over = 50;
  std::string branch = {};  // that alone; "": all
  StageSet stages = all_stages();
  /// That list alone, from there on.
  std::optional<Bookmark> after = {};
};
/// Job files that are read for a list; where they are those of other branches, a page may have fewer
/// jobs than was asked for, and yet there are more.
inline constexpr std::size_t kMostViewed = 2'000;

/// The queue in DIRECTORIES; one that was never used is empty. Errors: those of files.
base::Result<QueueView> view_queue(const Directories& directories, const ViewOptions& options);
/// The change set at PLACE. Errors: kNotFound; those of files.
base::Result<JobView> view_job(const Directories& directories, const JobLocation& place);

/// One object in one line, with what summaries have; WHOLE: with all that there is.
std::string json_of(const JobView& view, bool whole);
/// MORE: members of the object beside counts and jobs, `"name":value,` each.
std::string json_of(const QueueView& view, std::string_view more = {});
/// What json_of() wrote, as it came from another machine. Errors: kInvalid.
base::Result<JobView> job_view_of(std::string_view json);
base::Result<QueueView> queue_view_of(std::string_view json);

}  // namespace quarry::changes
