// The master's event loop: signals, deaths, replacements, the control channels, the stop.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child/child_output.h"
#include "control_server.h"
#include "pool/emergency_restart.h"
#include "pool/pool_policy.h"
#include "pool/pool_watch.h"
#include "pool/respawn_policy.h"
#include "pool/slow_log.h"
#include "quarry/base/event_handles.h"
#include "quarry/master/master.h"

namespace quarry::master {

class Master::Loop {
 public:
  Loop(GlobalConfig global, std::vector<Service> services, Reload reload, Control control);
  base::Result<void> run();

 private:
  using Action = std::function<void()>;

  struct Child {
    pid_t pid;
    std::size_t slot;
    std::chrono::steady_clock::time_point started;
    control::Channel control;
    /// When it was told to end although its pool goes on: idle ones that are too many.
    std::optional<std::chrono::steady_clock::time_point> told_to_end;
    Action on_control;
    base::EventPtr control_event;         // after what it uses, so that it goes first
    std::unique_ptr<ChildOutput> output;  // null: not caught
    std::int64_t slow_request = 0;        // start of the request that was told of last
    bool was_told_to_reopen = false;      // its logs: who cannot, ends
  };

  /// A service, its board and its living children.
  struct Group {
    explicit Group(Service its_service)
        : service(std::move(its_service)), policy(make_policy(service.processes)) {}

    Service service;
    scoreboard::Board board;
    scoreboard::SlotAllocator slots{0};
    std::unique_ptr<PoolPolicy> policy;
    RespawnPolicy respawn;
    std::string start_failure;  // why the last child that was to be started was not; "": it was
    std::chrono::steady_clock::time_point told_failure;   // when the log had it last
    std::chrono::steady_clock::time_point was_held_back;  // last, by process.max
    PoolWatch watch;
    std::vector<std::unique_ptr<Child>> children;
    base::EventPtr respawn_timer;   // pending: no child is started before it
    Advice advice = Advice::kNone;  // that was given last
    // Of a pool that is woken by connections:
    base::Fd accept_read;  // the child_accept pipe
    base::Fd accept_write;
    base::EventPtr accept_event;
    std::optional<std::chrono::steady_clock::time_point> left_to_idle;  // see on_connection()
    base::EventPtr listen_event;  // not pending: nobody has to be started for what waits
  };

  /// Children that wait for a connection and were not told to end, the longest idle first.
  struct IdleChildren {
    std::vector<Child*> children;
    std::vector<std::chrono::milliseconds> idle_for;
  };

  /// The program run with --test before it is to take over.
  struct ConfigCheck {
    pid_t pid;
    base::Fd output;
    std::string text;
    Action on_output;
    base::EventPtr event;
    std::chrono::steady_clock::time_point started;
    bool is_outdated = false;   // asked for again since
    bool is_emergency = false;  // the children have to be replaced in any case
  };

  enum class Phase {
    kRunning,
    kEndingFronts,  // graceful: SIGQUIT to the fronts
    kEndingPools,   // graceful: SIGQUIT to the pools
    kTerminating,   // SIGTERM to all
    kKilling,       // SIGKILL to all
  };

  /// An event on FD_OR_SIGNAL (-1: a timer) that runs ACTION, which must outlive it.
  base::EventPtr make_event(int fd_or_signal, short what, Action& action);
  /// The same for as long as the loop lives.
  base::EventPtr make_lasting_event(int fd_or_signal, short what, Action action);
  base::Result<void> watch_signals();
  void take_signal();
  void schedule(const base::EventPtr& timer, std::chrono::milliseconds delay);

  base::Result<void> set_up();
  void start_services();
  void tell_ready();
  /// Ends all that there is, and run() with an error: no child of GROUP can be started.
  void give_up(const Group& group);
  // How many children a pool has (pool_children.cc).
  base::Result<void> prepare_ondemand(Group& group);
  void maintain(Group& group);
  void carry_out(Group& group, const Decision& decision, const IdleChildren& idle);
  void give(Group& group, Advice advice);
  void on_connection(Group& group);
  void on_accepted(Group& group);
  void watch_listener(Group& group);
  void tell_to_end(Child& child);
  void press_the_slow(Group& group);
  IdleChildren idle_children(const Group& group) const;
  bool is_backing_off(const Group& group) const;

  bool start_child(Group& group);
  void tell_start_failure(Group& group, std::string why);
  void read_control(Group& group, Child& child);
  std::optional<scoreboard::Board> forget_others(const Group& group);
  void watch_pools();
  void bury_the_dead();
  void bury(Group& group, std::size_t position, int status);
  // What the service manager hears (notifying.cc).
  void tell_service_manager();
  std::string status_line();
  std::string short_pools() const;
  void reopen_logs();

  // What is told to who asks over the control socket (telling.cc).
  void listen_for_questions();
  std::string answer(control::Question question) const;

  std::chrono::milliseconds heartbeat() const;
  void check_requests();
  /// TOLD: the start of the request of the child PID that the slow log has already.
  void check_request(Group& group, pid_t pid, std::size_t slot, std::int64_t& told,
                     std::int64_t now);
  void tell_if_slow(Group& group, pid_t pid, std::int64_t& told, const scoreboard::SlotState& state,
                    std::int64_t now);
  void end_if_overdue(const Service& service, pid_t pid, const scoreboard::SlotState& state,
                      std::int64_t micros);
  /// Whether process.max leaves room for another child.
  bool may_fork(const Group& group) const;
  /// It keeps so many CHILDREN of GROUP from being started, or none any more: the board says so,
  /// and the log once when it begins.
  void hold_back(Group& group, std::size_t children);
  void fill_what_is_short();
  void feed_the_starved();
  /// So many children have crashed that all are replaced.
  void on_emergency();

  // Becoming a new master (reload.cc).
  void ask_for_reload(bool is_emergency = false);
  void check_is_over(int status);
  void take_check_output();
  void execute_again();
  base::Error execute(const Handover& handover);
  void ask_elders();
  void press_elders();
  bool bury_elder(pid_t pid, int status);
  /// For the log.
  static std::string how_it_ended(int status);
  void count_crash(int status);

  // What goes from one master to the next (succession.cc).
  void hand_over_boards(Handover& handover) const;
  void hand_over_children(Handover& handover) const;
  base::Result<void> set_up_board(Group& group);
  std::optional<scoreboard::PoolState> take_over_board(Group& group);
  void go_on_catching();
  std::size_t elders_of(const Group& group) const;
  void take_leave(Group& group, std::optional<std::size_t> slot);

  void stop_gracefully();
  void enter(Phase phase);
  void escalate();
  void go_on_stopping();
  void signal_children(int number, bool (*wanted)(ServiceKind));
  std::size_t living(bool (*wanted)(ServiceKind)) const;

  GlobalConfig global_;
  EmergencyRestart emergency_;
  SlowLog slow_log_;
  base::EventBasePtr base_;
  std::vector<std::unique_ptr<Action>> actions_;  // what the long-lived events run
  std::vector<base::EventPtr> events_;
  base::EventPtr deadline_;
  base::EventPtr every_second_;
  std::optional<base::Error> failure_;  // why the master gives up
  base::Fd signals_;
  std::vector<std::unique_ptr<Group>> groups_;
  Reload reload_;
  std::map<pid_t, std::unique_ptr<ChildOutput>> elder_outputs_;
  Control control_;
  std::optional<ControlServer> control_server_;
  std::int64_t generation_began_ = 0;  // seconds since 1970
  // The last status that the service manager was told:
  std::optional<std::chrono::steady_clock::time_point> told_at_;
  std::uint64_t told_requests_ = 0;
  std::optional<ConfigCheck> check_;  // that is under way
  Phase phase_ = Phase::kRunning;
  bool is_ready_ = false;
};

}  // namespace quarry::master
