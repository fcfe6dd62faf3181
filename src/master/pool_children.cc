// How many children a pool has: its policy decides, this carries out. For ondemand pools: when the
// listening socket is watched, which follows php-src/sapi/fpm/fpm/DESIGN.md.
//
// The socket is polled level-triggered, and taken out of the poll each time that it fires, since it
// stays readable until some child has called accept():
//
//   an idle child is there   it is on its way to accept(), and says so on the child_accept pipe
//   a child is started       so does this one, after its first accept(), which does not block:
//                            a sibling may have been quicker
//   neither is possible      there is nothing to do until a child is in accept() again, or ends
//
// What comes over the pipe puts the socket back, as the end of a child does, and the tick of every
// second: for what could not be done then, and for an idle child that never gets to accept().
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <numeric>

#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {

using base::LogLevel;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For how long a connection is left to children that seem to be idle.
constexpr milliseconds kPatience{1500};

base::Result<void> Master::Loop::prepare_ondemand(Group& group) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return base::fail_errno("cannot make the child_accept pipe");
  }
  group.accept_read.reset(ends[0]);
  group.accept_write.reset(ends[1]);
  group.accept_event = make_lasting_event(group.accept_read.get(), EV_READ | EV_PERSIST,
                                          [this, &group] { on_accepted(group); });
  ::event_add(group.accept_event.get(), nullptr);
  group.listen_event = make_lasting_event(group.service.listener.fd(), EV_READ,
                                          [this, &group] { on_connection(group); });
  return {};
}

bool Master::Loop::is_backing_off(const Group& group) const {
  return ::event_pending(group.respawn_timer.get(), EV_TIMEOUT, nullptr) != 0;
}

void Master::Loop::watch_listener(Group& group) {
  const bool is_wanted = group.listen_event && phase_ == Phase::kRunning && !is_backing_off(group);
  if (is_wanted) ::event_add(group.listen_event.get(), nullptr);
}

void Master::Loop::on_accepted(Group& group) {
  // Pids, which nobody believes: that something comes says all.
  std::array<char, 4096> pids;
  while (::read(group.accept_read.get(), pids.data(), pids.size()) ==
         static_cast<ssize_t>(pids.size())) {
  }
  group.left_to_idle.reset();
  watch_listener(group);
}

void Master::Loop::on_connection(Group& group) {
  if (phase_ != Phase::kRunning || is_backing_off(group)) return;
  // A child that waits was as quick as this process, and has it already.
  pollfd waiting{group.service.listener.fd(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) == 0) return watch_listener(group);
  IdleChildren idle = idle_children(group);
  const auto now = steady_clock::now();
  if (!idle.children.empty()) {
    if (!group.left_to_idle) group.left_to_idle = now;
    // It was stopped, say, or was woken for the connection and killed before it took it.
    if (now - *group.left_to_idle >= kPatience) idle = {};
  }
  carry_out(group, group.policy->on_connection({group.children.size(), idle.idle_for}), idle);
}

Master::Loop::IdleChildren Master::Loop::idle_children(const Group& group) const {
  const std::int64_t now = scoreboard::monotonic_micros();
  std::vector<std::pair<milliseconds, Child*>> found;
  for (const auto& child : group.children) {
    if (child->told_to_end) continue;
    const auto reading = group.board.read(child->slot);
    if (reading.is_torn || reading.state.stage != scoreboard::Stage::kAccepting) continue;
    // The child's word: it may be any number.
    const std::int64_t since = std::clamp<std::int64_t>(reading.state.stage_since, 0, now);
    found.emplace_back(milliseconds((now - since) / 1000), child.get());
  }
  std::ranges::stable_sort(found, std::greater{}, [](const auto& one) { return one.first; });
  IdleChildren idle;
  for (const auto& [since, child] : found) {
    idle.children.push_back(child);
    idle.idle_for.push_back(since);
  }
  return idle;
}

void Master::Loop::maintain(Group& group) {
  if (phase_ != Phase::kRunning) return;
  press_the_slow(group);
  if (is_backing_off(group)) return;
  const IdleChildren idle = idle_children(group);
  carry_out(group, group.policy->every_second({group.children.size(), idle.idle_for}), idle);
  watch_listener(group);
}

void Master::Loop::carry_out(Group& group, const Decision& decision, const IdleChildren& idle) {
  give(group, decision.advice);
  for (std::size_t i = 0; i < std::min(decision.stop, idle.children.size()); ++i) {
    tell_to_end(*idle.children[i]);
  }
  for (std::size_t i = 0; i < decision.start; ++i) {
    if (!may_fork(group)) return hold_back(group, decision.start - i);
    if (!start_child(group)) return hold_back(group, 0);
  }
  hold_back(group, 0);
}

void Master::Loop::give(Group& group, Advice advice) {
  const bool is_new = advice != group.advice;
  group.advice = advice;
  if (advice == Advice::kNone || !is_new) return;
  if (advice == Advice::kMaxChildrenReached) {
    group.watch.max_children_reached();
    base::log(
        LogLevel::kWarning,
        "[{}] has reached pm.max_children ({}) while more connections come: consider raising it",
        group.service.name, group.service.processes.max_children);
  } else {
    base::log(LogLevel::kWarning,
              "[{}] is busy: children are started faster and faster; consider raising "
              "pm.start_servers or pm.min_spare_servers and pm.max_spare_servers",
              group.service.name);
  }
}

void Master::Loop::tell_to_end(Child& child) {
  child.told_to_end = steady_clock::now();
  ::kill(child.pid, SIGQUIT);
}

/// Those that were told to end and have not within the time of a graceful stop.
void Master::Loop::press_the_slow(Group& group) {
  for (const auto& child : group.children) {
    if (!child->told_to_end) continue;
    if (steady_clock::now() - *child->told_to_end < global_.process_control_timeout) continue;
    base::log(LogLevel::kWarning, "[{}] child {} does not end, and is killed", group.service.name,
              child->pid);
    ::kill(child->pid, SIGKILL);
  }
}

}  // namespace quarry::master
