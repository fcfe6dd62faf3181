// A service, its scoreboard and its living children: how one is started, told to end and buried.
// When that happens is for others to say: scaling.h for what is kept running, job/jobs.h for what runs
// once.
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
#include "master_state.h"
#include "pool_watch.h"
#include "process_max.h"
#include "quarry/base/event_handles.h"
#include "quarry/control/channel.h"
#include "quarry/master/service.h"
#include "respawn_policy.h"

namespace quarry::master {

/// What a child that runs on request is at.
enum class JobStage { kRunning, kPaused, kResuming };

struct Child {
  pid_t pid = -1;
  std::optional<std::size_t> slot;  // of the board; a program has none
  std::chrono::steady_clock::time_point started;
  std::uint32_t number = 0;  // of a job: what it was started for
  JobStage stage = JobStage::kRunning;
  std::chrono::steady_clock::time_point stage_since;
  control::Channel control;
  base::Event on_control;  // after what it watches, so that it goes first
  /// When it was told to end although the master goes on.
  std::optional<std::chrono::steady_clock::time_point> asked_to_end_at;
  std::unique_ptr<ChildOutput> output;  // null: not caught
  std::int64_t slow_request = 0;        // start of the request that the slow log has already
  bool was_told_to_reopen = false;      // its logs: who cannot, ends
};

/// Children that wait for a connection and were not told to end, the longest idle first.
struct IdleChildren {
  std::vector<Child*> children;
  std::vector<std::chrono::milliseconds> idle_for;
};

/// How a child is started.
struct StartOptions {
  /// The writing end of the child_accept pipe; see ChildContext. -1: there is none.
  int child_accept = -1;
  /// Of a job: what is executed, and what for.
  const Program* program = nullptr;
  std::uint32_t number = 0;
};

/// What is left of a child that has ended.
struct Remains {
  Death death;
  std::string how;                   // "exited with code 1"
  std::uint32_t number = 0;          // of a job
  std::chrono::milliseconds ran{0};  // the same, since it had its turn
  bool was_asked_to_end = false;     // to end, although the master goes on
  bool has_failed = false;           // it ended by a signal or with another code than 0
};

class Children {
 public:
  /// What Children need of the others.
  struct Dependencies {
    event_base* base = nullptr;
    const MasterState* master_state = nullptr;
    ProcessMax* bound = nullptr;  // null: these do not count
    /// See spawn().
    std::function<std::optional<scoreboard::Board>(const Children&)> forget_others;
    /// What a child of SERVICE has said.
    std::function<void(const Service& service, const control::Message&)> on_message;
  };
  using JobListener = std::function<bool(Child&, const control::Message&)>;

  Children(Service service, Dependencies dependencies);
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  const Service& service() const { return service_; }
  const std::vector<std::unique_ptr<Child>>& living() const { return children_; }
  std::size_t count() const { return children_.size(); }
  /// Why the last child that was to be started was not; "": it was.
  const std::string& start_failure() const { return start_failure_; }

  /// What jobs say goes to LISTENER first. To be called before any is started.
  void listen_to_jobs(JobListener listener) { job_listener_ = std::move(listener); }
  /// To be called once, before anything is started. SLOTS are those of BOARD that are free.
  void stand_on(scoreboard::Board board, scoreboard::SlotAllocator slots,
                const scoreboard::PoolState* former, std::size_t previous_children);
  scoreboard::Board& board() { return board_; }
  const scoreboard::Board& board() const { return board_; }
  PoolWatch& watch() { return watch_; }
  const PoolWatch& watch() const { return watch_; }
  /// Once a second.
  void refresh_figures() { watch_.refresh(slots_); }

  /// False where there is no room for another one, or it cannot be started, which the log then has.
  bool start(const StartOptions& options);
  /// Whether process.max lets another one be started.
  bool has_room() const {
    return dependencies_.bound == nullptr || dependencies_.bound->has_room();
  }
  /// There may be none beside those of earlier generations, of which one is left.
  bool is_awaiting_previous_children() const {
    return service_.starts_alone && watch_.state().previous_children > 0;
  }
  /// Nothing where PID, which has ended with STATUS, is none of them.
  std::optional<Remains> reap(pid_t pid, int status);
  /// An elder has ended, which had SLOT of the board, and of which ELDERS are left.
  void reap_previous_child(std::optional<std::size_t> slot, std::size_t previous_children);

  IdleChildren idle() const;
  void signal(int number) const;
  void ask_to_reopen_logs();
  static void ask_to_end(const Service& service, Child& child);
  /// Kills those that were told to end and have not within the time of a graceful stop.
  void escalate_overdue();

 private:
  void log_start_failure(std::string why);
  void read_control(Child& child);
  /// A request.
  bool has_answered(const Child& child) const;

  Service service_;
  Dependencies dependencies_;
  JobListener job_listener_;
  scoreboard::Board board_;
  scoreboard::SlotAllocator slots_{0};
  PoolWatch watch_;
  std::vector<std::unique_ptr<Child>> children_;
  std::string start_failure_;
  std::chrono::steady_clock::time_point failure_logged_at_;  // when the log had it last
};

/// Tells ON_MESSAGE what has come over CHANNEL, up to a bound. Returns kNothing, unless CHANNEL is of
/// no use any more.
control::Received take_messages(const control::Channel& channel,
                                const std::function<void(const control::Message&)>& on_message);

/// For the log: "was ended by signal 9".
std::string how_it_ended(int status);

}  // namespace quarry::master
