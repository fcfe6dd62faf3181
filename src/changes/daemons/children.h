// Child processes of one queue's execution daemon.
//
// A child executes one job or batch after another. The child answers with a line for each job, in
// order. Each answer begins with the number of the verdict. The daemon sends these commands, one
// per line:
//
//   land NAME …     lands the jobs. The child moves the jobs itself (execute_all()). As soon as
//                   a job has moved to run/, the child also sends this line: begun CSID
//   rollback NAME   rolls back the change sets in the list of the job NAME. The job is in run/, and
//                   the daemon moves it
//   stop CSID WHY   stops a job that the child is executing; a signal follows (SIGHUP, SIGTERM)
//   turn            gives the child the turn to land on its branch
//   give way        a more urgent job waits for the jobs, which are a batch: no further gate is run
//                   for them
//
// A child whose jobs have passed a gate asks for the turn with the line "turn", and ends it with
// the line "turn over". Only one child has the turn of a branch. Among waiting children, the one
// with the most urgent job is next, then the one that has waited longest. If the branch has
// moved since the gate ran, the child runs the gate again during its turn. Therefore, only a push
// by a client can make the second verdict stale, and a job is not overtaken repeatedly.
//
// SIGUSR1 interrupts all jobs of a child. The jobs return to pending/. A child also interrupts its
// jobs after its daemon has exited, because the next daemon can give the jobs to another child.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/changes/daemons.h"

namespace quarry::changes {

inline constexpr std::string_view kBegun = "begun ";
inline constexpr std::string_view kTurn = "turn";
inline constexpr std::string_view kTurnOver = "turn over";
inline constexpr std::string_view kGiveWay = "give way";

/// A child's report about one of its jobs.
struct Answer {
  ChangeSetName name;
  bool has_begun = false;  // the job has moved to run/; its outcome follows in another answer
  bool is_rollback = false;
  std::optional<Outcome> outcome;  // nullopt if the child exited
  std::string how;                 // the exit code or signal, in words
};

class Children {
 public:
  /// The main function of a child of the process DAEMON. SOCKET is the child's end of the
  /// connection. The child exits when the function returns.
  using Live = std::function<void(base::Fd socket, pid_t daemon)>;

  explicit Children(Live live) : live_(std::move(live)) {}
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t busy() const;
  bool is_busy_with(const ChangeSetId& id) const;
  /// Forks a child unless a child is idle. Must not be called while the process holds file locks,
  /// because the child inherits them.
  Result<void> make_idle_one();
  /// Sends NAMES, which are for BRANCH, to an idle child. An idle child must exist. URGENCY is the
  /// move type of the most urgent job that lands with NAMES or waits for them.
  Result<void> give(std::vector<ChangeSetName> names, std::string branch, MoveType urgency);
  /// Gives the turn of each branch for which IS_FREE returns true to the next child that waits for
  /// it.
  void give_turns(const std::function<bool(const std::string& branch)>& is_free);
  /// Requests that batches less urgent than URGENCY run no further gate: all, or only the one with
  /// ID.
  void make_way(MoveType urgency, const std::optional<ChangeSetId>& id = {});
  /// Kills the child that is executing ID.
  void kill(const ChangeSetId& id) const;
  /// Sends a stop request for the job, and SIGNAL, to the child that is executing ID.
  void stop(const ChangeSetId& id, int signal, std::string_view why) const;
  /// Interrupts all jobs that are being executed, with SIGUSR1.
  void interrupt() const;
  /// Returns the descriptors to poll for answers.
  std::vector<int> descriptors() const;
  /// Returns the answers received since the last call.
  std::vector<Answer> take_answers();
  /// Called in a child: closes the daemon's descriptors.
  void close_all();

 private:
  struct Child {
    pid_t pid = -1;
    base::Fd socket;
    std::deque<ChangeSetName> names;  // names of the jobs that the child is executing
    std::string branch;               // branch of these jobs
    MoveType urgency = MoveType::kDevelopment;
    bool has_turn = false;
    bool gives_way = false;
    std::optional<std::chrono::steady_clock::time_point> waits_since;  // set if it waits for a turn
    std::string received;

    bool has(const ChangeSetId& id) const;
    bool is_rollback() const { return urgency == MoveType::kRollback; }
    void send(std::string_view line) const;
    void end_turn();
  };
  static Answer answer_of(Child& child, std::string_view line);
  static void take_line(Child& child, std::string_view line, std::vector<Answer>& answers);
  static void take_lines(Child& child, std::vector<Answer>& answers);
  static void report_death(Child& child, std::vector<Answer>& answers);
  static std::string reap(const Child& child);

  Live live_;
  std::vector<Child> children_;
};

/// Formats an outcome as a line, and parses such a line (without its newline).
std::string line_of(const Outcome& outcome);
std::optional<Outcome> outcome_of_line(std::string_view line);

/// The main function of a child of the process DAEMON. Executes jobs in DIRECTORIES until SOCKET is
/// closed or the child receives a signal to stop. If REPORTS_BEGIN is set, also reports each job
/// that has moved to run/.
void serve(base::Fd socket, pid_t daemon, const QueueOptions& options, Directories& directories,
           Executor& executor, const base::Clock& clock, bool reports_begin);

}  // namespace quarry::changes
