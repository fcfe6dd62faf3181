// The master's event loop: signals, deaths, replacements, the control channels, the stop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "child_output.h"
#include "emergency_restart.h"
#include "event_ptr.h"
#include "quarry/master/master.h"
#include "respawn_policy.h"
#include "slow_log.h"

namespace quarry::master {

class Master::Loop {
 public:
  Loop(GlobalConfig global, std::vector<Service> services);
  base::Result<void> run();

 private:
  using Action = std::function<void()>;

  struct Child {
    pid_t pid;
    std::size_t slot;
    std::chrono::steady_clock::time_point started;
    control::Channel control;
    Action on_control;
    EventPtr control_event;               // after what it uses, so that it goes first
    std::unique_ptr<ChildOutput> output;  // null: not caught
    std::int64_t slow_request = 0;        // start of the request that was told of last
  };

  /// A service, its board and its living children.
  struct Group {
    explicit Group(Service its_service)
        : service(std::move(its_service)), slots(service.children) {}

    Service service;
    scoreboard::Board board;
    scoreboard::SlotAllocator slots;
    RespawnPolicy policy;
    bool is_held_short = false;  // by process.max, and the log was told
    std::vector<std::unique_ptr<Child>> children;
    EventPtr respawn_timer;
  };

  enum class Phase {
    kRunning,
    kEndingFronts,  // graceful: SIGQUIT to the fronts
    kEndingPools,   // graceful: SIGQUIT to the pools
    kTerminating,   // SIGTERM to all
    kKilling,       // SIGKILL to all
  };

  /// An event on FD_OR_SIGNAL (-1: a timer) that runs ACTION, which must outlive it.
  EventPtr make_event(int fd_or_signal, short what, Action& action);
  /// The same for as long as the loop lives.
  EventPtr make_lasting_event(int fd_or_signal, short what, Action action);
  base::Result<void> watch_signals();
  void take_signal();
  void schedule(const EventPtr& timer, std::chrono::milliseconds delay);

  base::Result<void> set_up();
  base::Result<void> write_pid_file();
  void fill(Group& group);
  bool start_child(Group& group);
  void read_control(Group& group, Child& child);
  void bury_the_dead();
  void bury(Group& group, std::size_t position, int status);

  std::chrono::milliseconds heartbeat() const;
  void check_requests();
  void tell_if_slow(const Service& service, Child& child, const scoreboard::SlotState& state,
                    std::int64_t now);
  void end_if_overdue(const Service& service, const Child& child,
                      const scoreboard::SlotState& state, std::int64_t micros);
  /// Whether process.max leaves room for another child.
  bool may_fork(Group& group);
  void fill_what_is_short();
  /// So many children have crashed that all are replaced.
  void on_emergency();

  void stop_gracefully();
  void enter(Phase phase);
  void escalate();
  void go_on_stopping();
  void signal_children(int number, bool (*wanted)(ServiceKind));
  std::size_t living(bool (*wanted)(ServiceKind)) const;

  GlobalConfig global_;
  EmergencyRestart emergency_;
  SlowLog slow_log_;
  EventBasePtr base_;
  std::vector<std::unique_ptr<Action>> actions_;  // what the long-lived events run
  std::vector<EventPtr> events_;
  EventPtr deadline_;
  base::Fd signals_;
  std::vector<std::unique_ptr<Group>> groups_;
  Phase phase_ = Phase::kRunning;
};

}  // namespace quarry::master
