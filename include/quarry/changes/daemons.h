// The three daemons of a queue, and the interfaces that they use.
//
//   prequeue    checks submitted tarballs: makes a job from each, or records why it is invalid
//   queueing    finds precursors, fails jobs that can never go, and moves jobs that can go to
//               pending/; without a gate, also those that can go once the jobs ahead have landed
//   execution   starts child processes that land the jobs in pending/, and carry out rollbacks
//
// Each daemon serves any number of queues, and is the only one of its kind for each of them (it
// locks a pid file in ctrl/). It runs when its FIFO is written to, and on a timer. A job that is
// held, released, approved or retried goes to queue/, where it is read again.
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
  /// Returns the metadata for each case, or an error. After kIo, kBusy and kNoSpace the tarball is
  /// checked again later; any other error is the reason why the change set fails.
  virtual std::vector<base::Result<Meta>> check_all(std::span<const Case> cases) = 0;
};

/// Whether the child has been asked to stop, by SIGTERM or SIGHUP.
class Stop {
 public:
  virtual ~Stop() = default;
  /// The verdict of the stopped job: kTerminated or kAbandoned. nullopt if no stop is requested.
  virtual std::optional<Verdict> wanted() const = 0;
  /// If a stop is requested: the reason for stopping ID, which may be empty. nullopt if only other
  /// jobs of the same batch have to stop.
  virtual std::optional<std::string> why(const ChangeSetId&) const { return std::string(); }
};

/// Shown instead of errors that belong in the log. Everybody who may read the repository can see
/// why a change set waits or has failed, but must not see paths on the server.
inline constexpr std::string_view kServersTrouble = "internal error: see the server's log";

struct Outcome {
  Verdict verdict = Verdict::kFailed;
  std::string why;
  std::optional<artifact::HashName> landed;
};

/// Makes changes in a repository. Runs in a child.
class Executor {
 public:
  /// Appends to the log of the change set: conflicts, or the output of a gate.
  using Say = std::function<void(std::string_view text)>;

  virtual ~Executor() = default;
  struct Task {
    Job job;
    std::filesystem::path tarball;
    Say say;
  };
  /// Lands TASKS, which are for one branch, in this order and in one transaction if possible.
  /// Returns an outcome for each; a task that has landed before gets the same outcome again. When a
  /// task is deferred, later tasks that touch the same files are deferred too.
  virtual std::vector<Outcome> land_all(const std::vector<Task>& tasks, const Stop& stop) = 0;
  /// Rolls back LANDED, oldest first, by a single reverse check-in for ROLLBACK. If it is called
  /// again, it returns the same outcome without another check-in.
  virtual Outcome roll_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                            const Say& say) = 0;
};

struct QueueOptions {
  std::filesystem::path repository;
  std::filesystem::path base;
  Rules rules;
  std::size_t children = 2;  // number of children that execute at the same time
  std::size_t batch = 1;     // maximum number of jobs that are given to a child together
  /// Whether a batch may contain jobs that touch the same files, and so land on top of each other.
  /// Must be false with a gate, which could accept a job and defer the one that it lands on.
  bool takes_lines = false;
  std::chrono::milliseconds patience{30'000};  // time limit for a child to stop when it is asked to
};

/// Called after every move. May be empty.
using Report = std::function<void(const QueueOptions&, const Job&, Stage from, Stage to)>;

struct DaemonOptions {
  std::vector<QueueOptions> queues;
  /// Returns the queues that exist now, which replace `queues`; nullopt if they cannot be
  /// determined now. Called at most once every search_interval. A queue that cannot be opened is
  /// logged and retried. A queue that is missing twice in a row may finish its running jobs within
  /// its patience.
  std::function<std::optional<std::vector<QueueOptions>>()> find_queues;
  std::chrono::milliseconds search_interval{500};
  std::chrono::milliseconds scan_interval{5'000};
  bool is_once = false;  // exit when no work is left
  Report report;
};

using MakeChecker = std::function<std::unique_ptr<Checker>(const QueueOptions&)>;
/// Called in each child, to make its executor.
using MakeExecutor = std::function<std::unique_ptr<Executor>(const QueueOptions&)>;

// These functions return after SIGTERM, SIGINT or SIGQUIT, or, with is_once, when no work is left.
// The caller must have blocked these signals. After a signal, the execution daemon first waits
// until its children have finished their jobs. Errors: kBusy (another process serves one of the
// queues), those of file operations at the start.

base::Result<void> run_prequeue(const DaemonOptions& options, const MakeChecker& make_checker);
base::Result<void> run_queueing(const DaemonOptions& options);
base::Result<void> run_execution(const DaemonOptions& options, const MakeExecutor& make_executor);

/// The reason that the history of a job in run/ gives.
inline constexpr std::string_view kExecuted = "executed";
/// Called after a job has moved to run/.
using Begun = std::function<void(const ChangeSetId&)>;

/// Executes jobs of one branch in a child: moves them from pending/ to run/, executes them
/// together, and moves each one according to its verdict. Returns the verdicts; kSkipped means that
/// the job was left unchanged. The caller syncs the folders of DIRECTORIES after it has reported
/// the verdicts: if a crash undoes the last move, the job is executed again and found to have
/// landed.
std::vector<Verdict> execute_all(Directories& directories, const std::vector<ChangeSetName>& names,
                                 Executor& executor, const Stop& stop, const Rules& rules,
                                 const base::Clock& clock, const Begun& begun = {});

}  // namespace quarry::changes
