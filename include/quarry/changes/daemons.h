// The three daemons of a queue, and the interfaces that they use.
//
//   prequeue    checks submitted tarballs, and makes a job from each valid tarball
//   queueing    finds precursors, fails jobs that can never run, and moves jobs that can run to
//               pending/. Also moves urgent jobs that wait only for jobs in pending/ or run/, so
//               that they start when a running job ends. Without a gate, also moves less urgent
//               jobs of this kind, because one batch can land them in order
//   execution   starts child processes that land the jobs in pending/ and carry out rollbacks
//
// Each daemon serves any number of queues. For each queue, only one daemon of each kind runs; it
// locks a pid file in ctrl/. A daemon runs when its FIFO is written to, and on a timer. A job that
// is held, released, approved or retried is moved to queue/, where the queueing daemon reads it
// again.
//
// Children of the execution daemon keep the repository open and execute one job after another. A
// child reads the name of a job from a socket and replies with a verdict. If a child exits
// unexpectedly, its job counts as crashed.
#pragma once

#include <chrono>
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
  struct Checked {
    Meta meta;  // empty if the change set is refused before its base is looked up
    Result<void> verdict;
  };
  /// Returns the metadata and the verdict for each case. After kIo, kBusy and kNoSpace, the tarball
  /// is checked again later. Any other error makes the change set fail and is recorded as the
  /// reason.
  virtual std::vector<Checked> check_all(std::span<const Case> cases) = 0;
  /// Returns the diff of JOB (change_set_diff.h).
  virtual Result<std::string> diff(const Job& job, const std::filesystem::path& tarball) = 0;
};

/// A request to stop, which a child receives as SIGTERM, SIGHUP or SIGUSR1.
class Stop {
 public:
  virtual ~Stop() = default;
  /// Returns the verdict for the job that has to stop: kTerminated, kAbandoned or kInterrupted.
  /// Returns nullopt if no stop is requested.
  virtual std::optional<Verdict> wanted() const = 0;
  /// Call only if a stop is requested. Returns the reason for stopping ID, which may be empty.
  /// Returns nullopt if only other jobs of the same batch have to stop.
  virtual std::optional<std::string> why(const ChangeSetId&) const { return std::string(); }
};

/// The turn to land on a branch. Only one child of an execution daemon has the turn of a branch at
/// a time.
class Turn {
 public:
  virtual ~Turn() = default;
  /// Waits for the turn of the branch of the current jobs. Error: kBusy (a stop is requested, or
  /// the daemon has exited).
  virtual Result<void> take() = 0;
  /// Ends the turn, even if take() failed.
  virtual void end() = 0;
  /// Returns whether a more urgent job waits for the current jobs. The executor then does not run
  /// the gate for the jobs of a batch that it has not decided yet (kGaveWay).
  virtual bool must_give_way() = 0;
};

/// Shown instead of errors that are written only to the log. Every user who can read the repository
/// can see why a change set waits or has failed, but must not see paths on the server.
inline constexpr std::string_view kServersTrouble = "internal error: see the server's log";

struct Outcome {
  Verdict verdict = Verdict::kFailed;
  std::string why;
  std::optional<artifact::HashName> landed;
};

/// Changes a repository. Runs in a child process.
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
  /// Returns an outcome for each task. If a task has already landed, returns the same outcome
  /// again. If a task is deferred, later tasks that touch the same files are deferred too. Takes
  /// TURN between the gate's verdict and the landing, unless stale verdicts are accepted. Can call
  /// DECIDED, which can be empty, with the outcomes of the first tasks before the others have one.
  using Decided = std::function<void(std::span<const Outcome>)>;
  virtual std::vector<Outcome> land_all(const std::vector<Task>& tasks, const Stop& stop,
                                        Turn& turn, const Decided& decided) = 0;
  /// Rolls back the change sets LANDED, which are sorted oldest first, by a single reverse check-in
  /// for ROLLBACK. A repeated call returns the same outcome without another check-in.
  virtual Outcome roll_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                            const Say& say) = 0;
};

/// The right to execute the change sets of a repository, which one host of a group has at a time. A
/// host that has lost the right without noticing cannot do harm, because of the Fence in landing.h.
class ExecutionRight {
 public:
  virtual ~ExecutionRight() = default;
  /// Returns whether this process has the right now. Does not wait for other hosts.
  virtual bool take() = 0;
  virtual void give_back() = 0;
};

struct QueueOptions {
  std::filesystem::path repository;
  std::filesystem::path base;
  Rules rules;
  std::size_t children = 2;  // number of children that execute jobs at the same time
  std::size_t batch = 1;     // maximum number of jobs in a batch for one child
  /// Whether a batch may contain jobs that touch the same files. Each of these jobs lands on top of
  /// the previous one. Must be false if there is a gate, because a gate could accept a job but
  /// defer the previous one.
  bool takes_lines = false;
  /// Returns an error if the gate cannot be run. While it returns an error, only rollbacks are
  /// executed. Optional.
  std::function<Result<void>()> check_gate;
  std::shared_ptr<ExecutionRight> right = {};  // null if the repository is not replicated
  std::chrono::milliseconds patience{30'000};  // time for a child to stop after a request to stop
};

/// Called after every move of a job. Optional.
using Report = std::function<void(const QueueOptions&, const Job&, Stage from, Stage to)>;

struct FoundQueues {
  std::vector<QueueOptions> queues;
  bool is_complete = true;  // false if an error occurred: more queues might exist
};

struct DaemonOptions {
  std::vector<QueueOptions> queues;
  /// Returns the queues that exist now. They replace `queues`. Called at most once every
  /// search_interval. If a queue cannot be opened, the error is logged, and the daemon tries again
  /// later. If two successive complete results do not contain a queue that is being served, its
  /// running jobs get `patience` to finish.
  std::function<FoundQueues()> find_queues;
  std::chrono::milliseconds search_interval{500};
  std::chrono::milliseconds scan_interval{5'000};
  bool is_once = false;  // exit when no work is left
  Report report;
};

using MakeChecker = std::function<std::unique_ptr<Checker>(const QueueOptions&)>;
/// Called in each child to create its executor.
using MakeExecutor = std::function<std::unique_ptr<Executor>(const QueueOptions&)>;

// These functions return after SIGTERM, SIGINT or SIGQUIT. With is_once, they also return when no
// work is left. The caller must have blocked the three signals. After SIGQUIT, the execution daemon
// waits until its children have finished their jobs. After the other signals, it interrupts the
// jobs. Errors: kBusy (another process serves one of the queues), errors from file operations at
// the start.

Result<void> run_prequeue(const DaemonOptions& options, const MakeChecker& make_checker);
Result<void> run_queueing(const DaemonOptions& options);
Result<void> run_execution(const DaemonOptions& options, const MakeExecutor& make_executor);

/// The reason in the history of a job that was moved to run/.
inline constexpr std::string_view kExecuted = "executed";
/// Called after a job has moved to run/.
using Begun = std::function<void(const ChangeSetId&)>;

/// Called with the verdicts of the next jobs after they have moved. kSkipped means that a job was
/// left unchanged.
using Ended = std::function<void(std::span<const Verdict>)>;

/// Executes jobs of one branch in a child. Moves the jobs from pending/ to run/, executes them
/// together, and moves each job according to its verdict, as soon as it and the jobs before it have
/// one. The caller syncs the folders of DIRECTORIES after it has reported the verdicts. If a crash
/// undoes the last move, the job is executed again, and the executor finds that it has already
/// landed.
void execute_all(Directories& directories, const std::vector<ChangeSetName>& names,
                 Executor& executor, const Stop& stop, Turn& turn, const Rules& rules,
                 const base::Clock& clock, const Begun& begun = {}, const Ended& ended = {});

}  // namespace quarry::changes
