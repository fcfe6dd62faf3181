#include "loop.h"

#include <fmt/core.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "child/spawn.h"
#include "quarry/base/log.h"
#include "quarry/master/pid_file.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A child that talks without end must not keep the master from the others.
constexpr int kMessagesAtOnce = 64;
// What keeps children from being started may last; they are tried each second.
constexpr std::chrono::minutes kBetweenFailures{1};

}  // namespace

std::string Master::Loop::how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

Master::Loop::Loop(GlobalConfig global, std::vector<Service> services, Reload reload,
                   Control control)
    : global_(std::move(global)),
      emergency_(global_.emergency_restart_threshold, global_.emergency_restart_interval),
      reload_(std::move(reload)),
      control_(std::move(control)) {
  for (Service& service : services) {
    groups_.push_back(std::make_unique<Group>(std::move(service)));
  }
}

base::EventPtr Master::Loop::make_event(int fd_or_signal, short what, Action& action) {
  const auto run_action = [](evutil_socket_t, short, void* argument) {
    (*static_cast<Action*>(argument))();
  };
  return base::EventPtr(::event_new(base_.get(), fd_or_signal, what, run_action, &action));
}

base::EventPtr Master::Loop::make_lasting_event(int fd_or_signal, short what, Action action) {
  actions_.push_back(std::make_unique<Action>(std::move(action)));
  return make_event(fd_or_signal, what, *actions_.back());
}

void Master::Loop::schedule(const base::EventPtr& timer, milliseconds delay) {
  const timeval wait{delay.count() / 1000, (delay.count() % 1000) * 1000};
  ::event_add(timer.get(), &wait);
}

// A descriptor rather than libevent's signal events: those are kept in a global of libevent's,
// which a child that uses libevent itself would inherit.
base::Result<void> Master::Loop::watch_signals() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    ::sigaddset(&watched, number);
  }
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, children would vanish unseen
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return base::fail_errno("cannot watch for signals");
  events_.push_back(
      make_lasting_event(signals_.get(), EV_READ | EV_PERSIST, [this] { take_signal(); }));
  ::event_add(events_.back().get(), nullptr);
  return {};
}

void Master::Loop::take_signal() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    switch (signal.ssi_signo) {
      case SIGCHLD:
        bury_the_dead();
        break;
      case SIGQUIT:
        stop_gracefully();
        break;
      case SIGUSR1:
        reopen_logs();
        break;
      case SIGUSR2:
        ask_for_reload();
        break;
      case SIGHUP:
        reload_.on_hangup ? ask_for_reload() : enter(Phase::kTerminating);
        break;
      default:
        enter(Phase::kTerminating);
        break;
    }
  }
}

base::Result<void> Master::Loop::set_up() {
  base_.reset(::event_base_new());
  if (!base_) return base::fail(base::ErrorCode::kIo, "cannot make an event loop");
  QUARRY_TRY(watch_signals());
  listen_for_questions();
  deadline_ = make_lasting_event(-1, 0, [this] { escalate(); });
  every_second_ = make_lasting_event(-1, EV_PERSIST, [this] {
    for (const auto& group : groups_) maintain(*group);
    press_elders();
  });

  for (const auto& group : groups_) {
    Group& g = *group;
    QUARRY_TRY(set_up_board(g));
    g.respawn_timer = make_lasting_event(-1, 0, [this, &g] { maintain(g); });
    if (g.policy->is_woken_by_connections()) QUARRY_TRY(prepare_ondemand(g));
  }
  reload_.boards.clear();  // of pools that are no more
  go_on_catching();
  events_.push_back(make_lasting_event(-1, EV_PERSIST, [this] { watch_pools(); }));
  schedule(events_.back(), milliseconds(1000));
  if (const milliseconds interval = heartbeat(); interval.count() > 0) {
    events_.push_back(make_lasting_event(-1, EV_PERSIST, [this] { check_requests(); }));
    schedule(events_.back(), interval);
  }
  return {};
}

base::Result<void> Master::Loop::run() {
  QUARRY_TRY(set_up());
  if (!global_.pid_file.empty()) {
    const auto written = write_pid_file(global_.pid_file);
    // After a reload there are people to serve.
    if (!written && reload_.generation == 1) return written;
    if (!written) base::log(LogLevel::kError, "{}", written.error().message);
  }
  start_services();
  schedule(every_second_, milliseconds(1000));
  // Where a service did not start, those that did are ended before the error is told.
  if (phase_ == Phase::kRunning) tell_ready();
  if (phase_ == Phase::kRunning || living([](ServiceKind) { return true; }) > 0) {
    ::event_base_dispatch(base_.get());
  }
  if (!global_.pid_file.empty()) ::unlink(global_.pid_file.c_str());
  base::log(LogLevel::kNotice, "stopped");
  if (failure_) return std::unexpected(*failure_);
  return {};
}

/// A first start fails where a service has none of the children that it begins with. Later, and
/// after a reload, there are people to serve: what cannot be started is tried again.
void Master::Loop::start_services() {
  for (const auto& group : groups_) {
    const std::size_t initial = group->policy->initial();
    carry_out(*group, {.start = initial}, {});
    const bool is_held_back = group->watch.state().held_back > 0;  // which is no failure
    if (reload_.generation == 1 && initial > 0 && group->children.empty() && !is_held_back) {
      give_up(*group);
    }
    if (phase_ != Phase::kRunning) return;
    watch_listener(*group);
  }
}

void Master::Loop::tell_ready() {
  is_ready_ = true;
  ask_elders();
  base::log(LogLevel::kNotice, "ready: process {} with {} children", ::getpid(),
            living([](ServiceKind) { return true; }));
  tell_service_manager();
  if (reload_.on_ready) reload_.on_ready();
}

void Master::Loop::give_up(const Group& group) {
  if (!failure_) {
    failure_ = base::Error{
        base::ErrorCode::kIo,
        fmt::format("[{}] no child can be started: {}", group.service.name, group.start_failure)};
  }
  enter(Phase::kTerminating);
}

bool Master::Loop::start_child(Group& group) {
  // The board has more room than that, for those of earlier generations.
  if (group.children.size() >= group.service.processes.max_children) return false;
  const auto slot = group.slots.allocate();
  if (!slot) return false;
  // Nobody is told that the server is ready while what begins with children has none that can run.
  const bool is_first = reload_.generation == 1 && !is_ready_ && group.children.empty();
  const ChildEnds ends{group.board, *slot, group.accept_write.get(), is_first};
  auto spawned = spawn(group.service, ends, [&] { return forget_others(group); });
  if (!spawned) {
    tell_start_failure(group, std::move(spawned).error().message);
    group.slots.free(*slot);
    return false;
  }
  auto child = std::make_unique<Child>();
  child->pid = spawned->pid;
  child->slot = *slot;
  child->started = steady_clock::now();
  child->control = std::move(spawned->control);
  child->on_control = [this, &group, c = child.get()] { read_control(group, *c); };
  child->control_event = make_event(child->control.fd(), EV_READ | EV_PERSIST, child->on_control);
  ::event_add(child->control_event.get(), nullptr);
  if (spawned->output) {
    child->output = std::make_unique<ChildOutput>(
        base_.get(), fmt::format("[{}] child {}", group.service.name, child->pid),
        CaughtOutput{{std::move(spawned->output->out.read)},
                     {std::move(spawned->output->err.read)},
                     group.service.process.decorate_output});
  }
  base::log(LogLevel::kDebug, "[{}] child {} started", group.service.name, child->pid);
  if (!std::exchange(group.start_failure, {}).empty()) {
    base::log(LogLevel::kNotice, "[{}] children can be started again", group.service.name);
  }
  group.children.push_back(std::move(child));
  group.watch.child_started(group.children.size());
  return true;
}

void Master::Loop::tell_start_failure(Group& group, std::string why) {
  const auto now = steady_clock::now();
  const bool is_known = why == group.start_failure && now - group.told_failure < kBetweenFailures;
  group.start_failure = std::move(why);
  if (is_known) return;
  group.told_failure = now;
  base::log(LogLevel::kError, "[{}] {}", group.service.name, group.start_failure);
}

void Master::Loop::read_control(Group& group, Child& child) {
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    control::Message message{};
    switch (child.control.receive(&message)) {
      case control::Received::kMessage:
        if (group.service.on_message) group.service.on_message(message);
        continue;
      case control::Received::kNothing:
        return;
      case control::Received::kMalformed:
        base::log(LogLevel::kWarning,
                  "[{}] child {} wrote what is no message: its channel is closed",
                  group.service.name, child.pid);
        [[fallthrough]];
      case control::Received::kClosed:
        ::event_del(child.control_event.get());
        child.control.close();
        return;
    }
  }
}

void Master::Loop::bury_the_dead() {
  int status = 0;
  std::optional<int> status_of_check;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
       pid = ::waitpid(-1, &status, WNOHANG)) {
    if (check_ && check_->pid == pid) {
      status_of_check = status;
      continue;
    }
    if (bury_elder(pid, status)) continue;
    if (slow_log_.bury(pid, status)) continue;
    for (const auto& group : groups_) {
      const auto is_dead = [pid](const std::unique_ptr<Child>& child) { return child->pid == pid; };
      const auto at = std::ranges::find_if(group->children, is_dead);
      if (at == group->children.end()) continue;
      bury(*group, static_cast<std::size_t>(at - group->children.begin()), status);
      break;
    }
  }
  if (global_.process_max > 0) fill_what_is_short();
  go_on_stopping();
  // Last: a new master hears of no death that this one was told of.
  if (status_of_check) check_is_over(*status_of_check);
}

void Master::Loop::bury(Group& group, std::size_t position, int status) {
  const Child& child = *group.children[position];
  Death death;
  death.lived = std::chrono::duration_cast<milliseconds>(steady_clock::now() - child.started);
  death.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const bool exited_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  death.was_orderly =
      exited_well && (child.was_told_to_reopen || group.board.read(child.slot).state.requests > 0);

  if (child.output) child.output->finish();
  const bool is_expected = exited_well || phase_ != Phase::kRunning;
  base::log(is_expected ? LogLevel::kDebug : LogLevel::kWarning, "[{}] child {} {} after {:.3f} s",
            group.service.name, child.pid, how_it_ended(status),
            static_cast<double>(death.lived.count()) / 1000);

  const bool was_told = child.told_to_end.has_value();
  group.watch.child_ended(child.slot, group.children.size() - 1);
  group.slots.free(child.slot);
  group.children.erase(group.children.begin() + static_cast<std::ptrdiff_t>(position));
  if (phase_ != Phase::kRunning) return;
  count_crash(status);
  const milliseconds wait = was_told ? milliseconds(0) : group.respawn.after(death);
  if (is_backing_off(group)) return;
  if (wait.count() > 0) {
    base::log(LogLevel::kWarning, "[{}] children end too soon: the next start is in {} ms",
              group.service.name, wait.count());
    group.watch.backed_off(
        fmt::format("a child {} after {} ms", how_it_ended(status), death.lived.count()), wait);
    return schedule(group.respawn_timer, wait);
  }
  feed_the_starved();
  if (!was_told) {
    const IdleChildren idle = idle_children(group);
    carry_out(group, group.policy->after_death({group.children.size(), idle.idle_for}), idle);
  }
  watch_listener(group);
  fill_what_is_short();
}

void Master::Loop::count_crash(int status) {
  const bool has_crashed = WIFSIGNALED(status) && EmergencyRestart::is_crash(WTERMSIG(status));
  if (has_crashed && emergency_.after_crash(steady_clock::now())) on_emergency();
}

void Master::Loop::reopen_logs() {
  const auto complain = [](const base::Result<void>& done) {
    if (!done) base::log(LogLevel::kError, "{}", done.error().message);
  };
  complain(base::reopen_log(base::Reopening::kMakesFile));
  for (const auto& group : groups_) {
    if (group->service.reopen_logs) complain(group->service.reopen_logs());
  }
  base::log(LogLevel::kNotice, "the logs were opened again");
  for (const auto& group : groups_) {
    for (const auto& child : group->children) child->was_told_to_reopen = true;
  }
  // Elders, too: they go on writing for as long as their requests take.
  signal_children(SIGUSR1, [](ServiceKind) { return true; });
}

}  // namespace quarry::master
