// The three daemons of a queue, and what they are given to do their work with.
//
//   prequeue    looks at what was submitted: makes a job of each tarball, or says what is wrong
//   queueing    finds precursors, fails what can never go, and moves to pending/ what may go, and what
//               may go as soon as those ahead of it in pending/ have (where no gate decides)
//   execution   has children land what is in pending/, and takes back what a rollback names
//
// Each serves any number of queues, is the only one of its kind in each (the lock of its pid file in
// ctrl/), wakes up when its FIFO is pulled, and scans on a timer. A job that somebody changes without
// executing it (holds, releases, approves, retries) goes to queue/, where it is read anew.
//
// Children of the execution stay, with the repository open, and take one job after the other: they
// are told a name, and answer with a verdict. A child that dies is its job's abnormal end.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/job.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Looks at a tarball.
class Checker {
 public:
  virtual ~Checker() = default;
  /// What it is. Errors: kIo, kBusy, kNoSpace: it is to be looked at again later; any other: the
  /// change set fails for that reason.
  virtual base::Result<Meta> check(const ChangeSetName& name, const std::filesystem::path& tarball,
                                   const Submission& submission) = 0;
  struct Case {
    ChangeSetName name;
    std::filesystem::path tarball;
    Submission submission;
  };
  /// The same of each of CASES. Without more: one after the other.
  virtual std::vector<base::Result<Meta>> check_all(std::span<const Case> cases);
};

/// Whether a child has been asked to stop: by SIGTERM or SIGHUP.
class Stop {
 public:
  virtual ~Stop() = default;
  /// kTerminated or kAbandoned.
  virtual std::optional<Verdict> wanted() const = 0;
  /// Where it is wanted: why ID is to stop, as somebody has said ("": nobody has). Nothing: others
  /// that are executed with it are meant.
  virtual std::optional<std::string> why(const ChangeSetId&) const { return std::string(); }
};

/// What is told of errors that are for the log: all who may read the repository read why a change set
/// waits or has failed, and where the server's files lie is not theirs to know.
inline constexpr std::string_view kServersTrouble =
    "the server has trouble, of which its log tells";

struct Outcome {
  Verdict verdict = Verdict::kFailed;
  std::string why;
  std::optional<artifact::HashName> landed;
};

/// Changes a repository; lives in a child.
class Executor {
 public:
  /// For the log of the change set: conflicts, a gate's output.
  using Say = std::function<void(std::string_view text)>;

  virtual ~Executor() = default;
  /// Lands JOB, once: where it has landed before, that is its outcome.
  virtual Outcome land(const Job& job, const std::filesystem::path& tarball, const Stop& stop,
                       const Say& say) = 0;
  struct Task {
    Job job;
    std::filesystem::path tarball;
    Say say;
  };
  /// Lands TASKS, which are of one branch, in this order and together where it can. An outcome for
  /// each; where one is put off, so are those behind it that touch the same files. Without more: one
  /// after the other.
  virtual std::vector<Outcome> land_all(const std::vector<Task>& tasks, const Stop& stop);
  /// Takes back LANDED, the oldest first, by one reverse check-in of ROLLBACK; once, as land().
  virtual Outcome take_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                            const Say& say) = 0;
};

struct QueueOptions {
  std::filesystem::path repository;
  std::filesystem::path base;
  Rules rules;
  std::size_t children = 2;  // that execute at the same time
  std::size_t batch = 1;     // jobs that a child takes at once
  /// Also those that touch the same files: they land one on top of the other. Not where a gate
  /// decides over them, which may pass one and put off the one ahead of it.
  bool takes_lines = false;
  std::chrono::milliseconds patience{30'000};  // for a child that was asked to stop
};

/// Told of every move, after it. Empty: nobody listens.
using Report = std::function<void(const QueueOptions&, const Job&, Stage from, Stage to)>;

struct DaemonOptions {
  std::vector<QueueOptions> queues;
  /// Where queues come and go: which there are by now, instead of the above; asked again and again, at
  /// most every look_interval. Nothing: that cannot be told now. One that cannot be taken is left, with
  /// a line in the log, and tried again; one that has gone for two looks ends what it has in hand, if
  /// that takes no longer than its patience.
  std::function<std::optional<std::vector<QueueOptions>>()> find_queues;
  std::chrono::milliseconds look_interval{500};
  std::chrono::milliseconds scan_interval{5'000};
  bool is_once = false;  // ends when there is nothing to do
  Report report;
};

using MakeChecker = std::function<std::unique_ptr<Checker>(const QueueOptions&)>;
/// Called in each child.
using MakeExecutor = std::function<std::unique_ptr<Executor>(const QueueOptions&)>;

// Each returns after SIGTERM, SIGINT or SIGQUIT, which the caller has blocked before (execution:
// when its children have ended what they had), or when it is done with all, if it is to go once.
// Errors: kBusy: another one serves one of the queues; those of files at the start.

base::Result<void> run_prequeue(const DaemonOptions& options, const MakeChecker& make_checker);
base::Result<void> run_queueing(const DaemonOptions& options);
base::Result<void> run_execution(const DaemonOptions& options, const MakeExecutor& make_executor);

/// Why a job is in run/.
inline constexpr std::string_view kExecuted = "executed";
/// Told that a job has come to run/.
using Begun = std::function<void(const ChangeSetId&)>;

/// What a child does with a job: from pending/ to run/ and to where the verdict leads. kSkipped:
/// it was not touched. The caller settles DIRECTORIES, when it has said so to whoever waits: where a
/// machine forgets the last move, the job is executed again, and found to have landed.
Verdict execute(Directories& directories, const ChangeSetName& name, Executor& executor,
                const Stop& stop, const Rules& rules, const base::Clock& clock);
/// The same with several of one branch, which are landed together. A verdict for each.
std::vector<Verdict> execute_all(Directories& directories, const std::vector<ChangeSetName>& names,
                                 Executor& executor, const Stop& stop, const Rules& rules,
                                 const base::Clock& clock, const Begun& begun = {});

}  // namespace quarry::changes
