#include "scaling.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "quarry/base/log.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Time for an apparently idle child to accept a connection.
constexpr milliseconds kIdleDelay{1500};
// A pool counts as held back by process.max until this time has passed without a refused start.
// Without the delay, the state could change thousands of times per second.
constexpr std::chrono::seconds kUntilOver{3};

}  // namespace

Scaling::Scaling(Children& children, event_base* base, const MasterState& master_state,
                 const ProcessMax& bound)
    : children_(children),
      service_(children.service()),
      base_(base),
      master_state_(master_state),
      bound_(bound),
      policy_(make_policy(service_.processes)),
      respawn_timer_(base, -1, 0, [this] { maintain(); }) {}

Result<void> Scaling::set_up() {
  if (!policy_->is_woken_by_connections()) return {};
  QUARRY_TRY_ASSIGN(child_accept_, base::make_pipe(O_NONBLOCK));
  accepted_ = base::Event(base_, child_accept_.reading.get(), EV_READ | EV_PERSIST,
                          [this] { on_accepted(); });
  accepted_.wait();
  connection_ = base::Event(base_, service_.listener.fd(), EV_READ, [this] { on_connection(); });
  return {};
}

bool Scaling::begin() {
  const std::size_t initial = policy_->initial();
  carry_out({.start = initial}, {});
  if (master_state_.is_running) watch_listener();
  // It is not a failure if process.max prevents the start.
  const bool is_held_back = children_.watch().state().held_back > 0;
  return initial == 0 || children_.count() > 0 || is_held_back ||
         children_.is_awaiting_previous_children();
}

void Scaling::second_passed() {
  children_.escalate_overdue();
  maintain();
}

bool Scaling::may_start() const {
  return master_state_.is_running && !is_backing_off();
}

void Scaling::maintain() {
  if (!may_start()) return;
  const IdleChildren idle = children_.idle();
  carry_out(policy_->every_second({children_.count(), idle.idle_for}), idle);
  watch_listener();
}

Vacancy Scaling::child_ended(const Remains& remains) {
  const milliseconds wait =
      remains.was_asked_to_end ? milliseconds(0) : respawn_.after(remains.death);
  if (is_backing_off()) return Vacancy::kReserved;
  if (wait.count() == 0) return Vacancy::kFree;
  base::log(LogLevel::kWarning, "[{}] children exit too soon after they start; next start in {} ms",
            service_.name, wait.count());
  children_.watch().backed_off(
      fmt::format("a child {} after {} ms", remains.how, remains.death.lived.count()), wait);
  respawn_timer_.wait(wait);
  return Vacancy::kReserved;
}

void Scaling::fill_vacancy(const Remains& remains) {
  if (!remains.was_asked_to_end) {
    const IdleChildren idle = children_.idle();
    carry_out(policy_->after_death({children_.count(), idle.idle_for}), idle);
  }
  watch_listener();
}

void Scaling::room_available() {
  policy_->is_woken_by_connections() && children_.count() == 0 ? on_connection() : maintain();
}

bool Scaling::is_short() const {
  return children_.watch().state().held_back > 0 || is_backing_off() ||
         advice_ == Advice::kMaxChildrenReached;
}

void Scaling::carry_out(const Decision& decision, const IdleChildren& idle) {
  give(decision.advice);
  for (std::size_t i = 0; i < std::min(decision.stop, idle.children.size()); ++i) {
    Children::ask_to_end(service_, *idle.children[i]);
  }
  for (std::size_t i = 0; i < decision.start && !children_.is_awaiting_previous_children(); ++i) {
    if (!children_.has_room()) return hold_back(decision.start - i);
    if (!children_.start({.child_accept = child_accept_.writing.get()})) break;
  }
  hold_back(0);
}

/// Publishes CHILDREN, the number of children that process.max holds back. Logs when the number
/// becomes positive.
void Scaling::hold_back(std::size_t children) {
  const auto now = steady_clock::now();
  if (children == 0 && now - was_held_back_ < kUntilOver) return;
  const bool is_new = children_.watch().state().held_back == 0 && children > 0;
  if (children > 0) was_held_back_ = now;
  children_.watch().held_back(children);
  if (!is_new) return;
  base::log(LogLevel::kWarning, "[{}] process.max ({}) is reached: running {} of {} children",
            service_.name, bound_.limit(), children_.count(), service_.processes.max_children);
}

void Scaling::give(Advice advice) {
  const bool is_new = advice != advice_;
  advice_ = advice;
  if (advice == Advice::kNone || !is_new) return;
  if (advice == Advice::kMaxChildrenReached) {
    children_.watch().max_children_reached();
    base::log(LogLevel::kWarning,
              "[{}] has reached pm.max_children ({}) and needs more children: consider raising it",
              service_.name, service_.processes.max_children);
  } else {
    base::log(LogLevel::kWarning,
              "[{}] is busy: the rate of starts is increasing; consider raising pm.start_servers "
              "or pm.min_spare_servers and pm.max_spare_servers",
              service_.name);
  }
}

void Scaling::watch_listener() {
  if (connection_ && may_start()) connection_.wait();
}

void Scaling::on_accepted() {
  // Discard the pids, which are not trusted. Only the arrival of the data matters.
  std::array<char, 4096> pids;
  while (::read(child_accept_.reading.get(), pids.data(), pids.size()) ==
         static_cast<ssize_t>(pids.size())) {
  }
  left_to_idle_.reset();
  watch_listener();
}

void Scaling::on_connection() {
  if (!may_start()) return;
  IdleChildren idle = children_.idle();
  // Check again whether a connection waits, because an idle child might have accepted it. This
  // check must come after idle(). In the reverse order, a child could accept the connection between
  // the two calls, and there would seem to be a waiting connection but no idle child.
  pollfd waiting{service_.listener.fd(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) == 0) return watch_listener();
  const auto now = steady_clock::now();
  if (!idle.children.empty()) {
    if (!left_to_idle_) left_to_idle_ = now;
    // After kIdleDelay, ignore the idle children, so that a new child is started. The idle children
    // might be stopped or killed.
    if (now - *left_to_idle_ >= kIdleDelay) idle = {};
  }
  carry_out(policy_->on_connection({children_.count(), idle.idle_for}), idle);
}

}  // namespace quarry::master
