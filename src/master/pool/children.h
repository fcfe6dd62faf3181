// The running children of a service, and its scoreboard. This class starts, ends and reaps
// children. A Starter decides when children are started: scaling.h for permanent services,
// job/jobs.h for jobs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child/child_output.h"
#include "crash_policy.h"
#include "master_state.h"
#include "pool_watch.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/handover.h"
#include "quarry/master/service.h"

namespace quarry::master {

/// The state of a child that runs on request.
enum class JobStage { kRunning, kPaused, kResuming };

struct Child {
  pid_t pid = -1;
  std::optional<std::size_t> slot;  // slot on the board; nullopt for programs
  std::chrono::steady_clock::time_point started;
  std::uint32_t number = 0;  // for a job: the requested number
  JobStage stage = JobStage::kRunning;
  std::chrono::steady_clock::time_point stage_since;
  control::Channel control;
  base::Event on_control;  // declared after `control`, so it is destroyed first
  /// Time of the call of ask_to_end(). signal() does not set this time.
  std::optional<std::chrono::steady_clock::time_point> asked_to_end_at;
  std::unique_ptr<ChildOutput> output;  // null if the output is not captured
  std::int64_t slow_request = 0;        // start of the last request that was logged in the slow log
};

/// Children that wait for a connection and were not asked to exit. The children are sorted by idle
/// time, longest first.
struct IdleChildren {
  std::vector<Child*> children;
  std::vector<std::chrono::milliseconds> idle_for;
};

/// Options for starting a child.
struct StartOptions {
  /// The writing end of the child_accept pipe (see ChildContext), or -1.
  int child_accept = -1;
  /// For a job: the program, and the requested number.
  const Program* program = nullptr;
  std::uint32_t number = 0;
};

/// Data about a child that has exited.
struct Remains {
  Death death;
  std::string how;                   // such as "exited with code 1"
  std::uint32_t number = 0;          // of a job
  std::chrono::milliseconds ran{0};  // for a job: time since its last resume, or its start
  bool was_asked_to_end = false;     // by the current master
  bool has_failed = false;           // killed by a signal, or exit code other than 0
};

class Children {
 public:
  /// Objects that this class uses but does not own.
  struct Dependencies {
    event_base* base = nullptr;
    const MasterState* master_state = nullptr;
    ProcessMax* bound = nullptr;  // null: process.max does not apply
    /// Passed to spawn() as FORGET_OTHERS.
    std::function<std::optional<scoreboard::Board>(const Children&)> forget_others;
    /// Handles a message from a child of SERVICE. JOB is the number of the child's job, or 0.
    std::function<void(const Service& service, std::uint32_t job, const control::Message&)>
        on_message;
  };
  using JobListener = std::function<bool(Child&, const control::Message&)>;

  Children(Service service, Dependencies dependencies);
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  const Service& service() const { return service_; }
  const std::vector<std::unique_ptr<Child>>& living() const { return children_; }
  std::size_t count() const { return children_.size(); }
  /// Why the last start failed; "" if it succeeded.
  const std::string& start_failure() const { return start_failure_; }

  /// Sets LISTENER, which gets the messages of all children first. A message goes to
  /// Dependencies::on_message only if LISTENER returns false. Called before the first start, only
  /// for services that run jobs.
  void listen_to_jobs(JobListener listener) { job_listener_ = std::move(listener); }
  /// Sets the board and the allocator of its slots. Called once, before the first start. FORMER is
  /// the state of the same pool in the previous master, or null.
  void stand_on(scoreboard::Board board, scoreboard::SlotAllocator slots,
                const scoreboard::PoolState* former, std::size_t previous_children);
  scoreboard::Board& board() { return board_; }
  const scoreboard::Board& board() const { return board_; }
  PoolWatch& watch() { return watch_; }
  const PoolWatch& watch() const { return watch_; }
  /// Called once a second.
  void refresh_figures() { watch_.refresh(slots_); }

  /// Starts a child. Returns false if a limit is reached, or if the start fails. A failure is
  /// logged.
  bool start(const StartOptions& options);
  /// Continues with CHILD, which runs a program and was started by the previous master.
  void adopt(PreviousChild child);
  /// Returns whether process.max permits another child.
  bool has_room() const {
    return dependencies_.bound == nullptr || dependencies_.bound->has_room();
  }
  /// Returns whether children cannot start yet because children of an earlier generation are still
  /// running.
  bool is_awaiting_previous_children() const {
    return service_.starts_alone && watch_.state().previous_children > 0;
  }
  /// Handles the exit of PID with STATUS. Returns nullopt if PID is not one of these children.
  std::optional<Remains> reap(pid_t pid, int status);
  /// Handles the exit of a previous generation's child, which used SLOT on the board.
  /// PREVIOUS_CHILDREN is the number of remaining children of previous generations.
  void reap_previous_child(std::optional<std::size_t> slot, std::size_t previous_children);

  IdleChildren idle() const;
  void signal(int number) const;
  /// Sends the logs that this process has reopened to the children.
  void reopen_logs() const;
  static void ask_to_end(const Service& service, Child& child);
  /// Kills children that were asked to exit and have not exited within process_control_timeout.
  void escalate_overdue();

 private:
  /// Adds CHILD, whose pid and channel are set. OUTPUT is its captured output, if any.
  void add(std::unique_ptr<Child> child, std::optional<CaughtOutput> output);
  void log_start_failure(std::string why);
  void read_control(Child& child);
  /// Returns whether the child has finished at least one request.
  bool has_answered(const Child& child) const;

  Service service_;
  Dependencies dependencies_;
  JobListener job_listener_;
  scoreboard::Board board_;
  scoreboard::SlotAllocator slots_{0};
  PoolWatch watch_;
  std::vector<std::unique_ptr<Child>> children_;
  std::string start_failure_;
  std::chrono::steady_clock::time_point failure_logged_at_;
};

/// Whether the place of a child that has exited is free for other services, or reserved for its
/// replacement.
enum class Vacancy { kFree, kReserved };

/// Decides when children of a service are started.
class Starter {
 public:
  virtual ~Starter() = default;

  /// Registers the service's events, if any. Errors: kIo.
  virtual Result<void> set_up() = 0;
  /// Starts the initial children. Returns false if all starts fail for a reason other than a limit.
  virtual bool begin() = 0;
  virtual void second_passed() = 0;
  /// Handles the exit of a child. Not called while the master is stopping.
  virtual Vacancy child_ended(const Remains& remains) = 0;
  /// Replaces the child that has exited, if needed.
  virtual void fill_vacancy(const Remains& remains) = 0;
  /// Called when process.max might permit more children of a service that was held back.
  virtual void room_available() = 0;
  /// Returns whether the service needs more children than it can start.
  virtual bool is_short() const = 0;
};

/// Passes the waiting messages from CHANNEL to ON_MESSAGE, up to a limit per call. Then returns
/// kNothing, or kClosed or kMalformed if CHANNEL can no longer be used.
control::Received take_messages(const control::Channel& channel,
                                const std::function<void(const control::Message&)>& on_message);

/// Sends the logs of this process to CHILD, which belongs to SERVICE. Does nothing if CHILD runs a
/// program. An error is logged.
void send_logs_to(pid_t child, const control::Channel& channel, const Service& service);

/// Describes STATUS for the log, such as "was killed by signal 9".
std::string how_it_ended(int status);

}  // namespace quarry::master
