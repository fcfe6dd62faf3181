// The three daemons of a queue, and the interfaces that they are given.
//
//   prequeue    checks submitted tarballs: makes a job of each, or records why it is invalid
//   queueing    finds precursors, fails jobs that can never go, and moves to pending/ those that can
//               go, or, without a gate, can go once the jobs ahead of them have landed
//   execution   has child processes land the jobs in pending/, and roll back what a rollback names
//
// Each daemon serves any number of queues and is the only one of its kind in each (it locks a pid
// file in ctrl/). It runs when its FIFO is written to, and on a timer. A job that is changed
// without being executed (held, released, approved, retried) goes to queue/, where it is read
// again.
//
// Children of the execution daemon keep the repository open and execute one job after another:
// they read its name from a socket and answer with a verdict. When a child dies, its job counts as
// crashed.
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

/// Checks tarballs.
class Checker {
 public:
  virtual ~Checker() = default;
  struct Case {
    ChangeSetName name;
    std::filesystem::path tarball;
    Submission submission;
  };
  /// Returns the metadata of each. On kIo, kBusy and kNoSpace the tarball is checked again later;
  /// any other error is the reason why the change set fails.
  virtual std::vector<base::Result<Meta>> check_all(std::span<const Case> cases) = 0;
};

/// Whether the child has been asked to stop, by SIGTERM or SIGHUP.
class Stop {
 public:
  virtual ~Stop() = default;
  /// kTerminated or kAbandoned.
  virtual std::optional<Verdict> wanted() const = 0;
  /// If a stop is wanted: the reason given for ID ("": none given). Nothing: the request is for
  /// other jobs of the same batch.
  virtual std::optional<std::string> why(const ChangeSetId&) const { return std::string(); }
};

/// Shown instead of errors that belong in the log: everybody who may read the repository sees why
/// a change set waits or has failed, but must not see the paths of the server.
inline constexpr std::string_view kServersTrouble = "internal error: see the server's log";

struct Outcome {
  Verdict verdict = Verdict::kFailed;
  std::string why;
  std::optional<artifact::HashName> landed;
};

/// Changes a repository; runs in a child.
class Executor {
 public:
  /// Appends to the log of the change set: conflicts, output of a gate.
  using Say = std::function<void(std::string_view text)>;

  virtual ~Executor() = default;
  struct Task {
    Job job;
    std::filesystem::path tarball;
    Say say;
  };
  /// Lands TASKS, which are for one branch, in this order and in one transaction if possible.
  /// Returns an outcome for each; a task that has landed before gets the same outcome again. When
  /// one is deferred, so are later ones that touch the same files.
  virtual std::vector<Outcome> land_all(const std::vector<Task>& tasks, const Stop& stop) = 0;
  /// Rolls back LANDED, oldest first, by one reverse check-in of ROLLBACK. Like land_all(), has no
  /// effect the second time.
  virtual Outcome roll_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                            const Say& say) = 0;
};

struct QueueOptions {
  std::filesystem::path repository;
  std::filesystem::path base;
  Rules rules;
  std::size_t children = 2;  // executing at the same time
  std::size_t batch = 1;     // jobs given to a child at once
  /// A batch may contain jobs that touch the same files, which land on top of each other. Not with
  /// a gate, which could accept one and defer the one before it.
  bool takes_lines = false;
  std::chrono::milliseconds patience{30'000};  // time for a child to stop when asked to
};

/// Called after every move. May be empty.
using Report = std::function<void(const QueueOptions&, const Job&, Stage from, Stage to)>;

struct DaemonOptions {
  std::vector<QueueOptions> queues;
  /// Returns the queues that exist now, replacing `queues`; called at most every search_interval.
  /// Nothing: cannot be determined now. A queue that cannot be opened is logged and retried. A
  /// queue that is missing twice in a row finishes its running jobs, within its patience.
  std::function<std::optional<std::vector<QueueOptions>>()> find_queues;
  std::chrono::milliseconds search_interval{500};
  std::chrono::milliseconds scan_interval{5'000};
  bool is_once = false;  // exit when there is nothing to do
  Report report;
};

using MakeChecker = std::function<std::unique_ptr<Checker>(const QueueOptions&)>;
/// Called in each child.
using MakeExecutor = std::function<std::unique_ptr<Executor>(const QueueOptions&)>;

// These return after SIGTERM, SIGINT or SIGQUIT, which the caller must have blocked before
// (execution: after its children have finished their jobs), or, with is_once, when there is
// nothing left to do. Errors: kBusy: another process serves one of the queues; those of file
// operations at the start.

base::Result<void> run_prequeue(const DaemonOptions& options, const MakeChecker& make_checker);
base::Result<void> run_queueing(const DaemonOptions& options);
base::Result<void> run_execution(const DaemonOptions& options, const MakeExecutor& make_executor);

/// The reason in the history of a job in run/.
inline constexpr std::string_view kExecuted = "executed";
/// Called when a job has moved to run/.
using Begun = std::function<void(const ChangeSetId&)>;

/// What a child does with jobs of one branch: moves them from pending/ to run/, executes them
/// together, and moves each to where its verdict leads. Returns the verdicts; kSkipped: the job was
/// not touched. The caller syncs the folders of DIRECTORIES after it has reported the verdicts: if
/// the last move is lost in a crash, the job is executed again and found to have landed.
std::vector<Verdict> execute_all(Directories& directories, const std::vector<ChangeSetName>& names,
                                 Executor& executor, const Stop& stop, const Rules& rules,
                                 const base::Clock& clock, const Begun& begun = {});

}  // namespace quarry::changes
