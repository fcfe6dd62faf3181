// process.max: the workers of all pools together stay within a bound, whatever the pools would
// have. Fronts, and the processes that only show a pool's status, are not among them: they have to
// tell that a pool is kept short.
#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {

using std::chrono::steady_clock;

// A pool is short until no child was wanted in vain for so long: from one connection to the next it
// may be and not be, thousands of times a second.
constexpr std::chrono::seconds kUntilOver{3};

bool Master::Loop::may_fork(const Group& group) const {
  const auto is_bounded = [](const Group& one) { return !one.service.pool.empty(); };
  if (global_.process_max == 0 || !is_bounded(group)) return true;
  // Those of earlier generations, which finish, are beyond it for a while.
  std::size_t alive = 0;
  for (const auto& one : groups_) {
    if (is_bounded(*one)) alive += one->children.size();
  }
  return alive < global_.process_max;
}

void Master::Loop::hold_back(Group& group, std::size_t children) {
  const auto now = steady_clock::now();
  if (children == 0 && now - group.was_held_back < kUntilOver) return;
  const bool is_new = group.watch.state().held_back == 0 && children > 0;
  if (children > 0) group.was_held_back = now;
  group.watch.held_back(children);
  if (!is_new) return;
  base::log(base::LogLevel::kWarning, "[{}] process.max ({}) is reached: it has {} children of {}",
            group.service.name, global_.process_max, group.children.size(),
            group.service.processes.max_children);
}

// A pool that had to do with less takes the place of another one's child.
void Master::Loop::fill_what_is_short() {
  for (const auto& group : groups_) {
    if (group->watch.state().held_back > 0) maintain(*group);
  }
}

// A pool without any worker goes before the one whose worker has just ended: it serves nobody.
void Master::Loop::feed_the_starved() {
  for (const auto& group : groups_) {
    if (group->watch.state().held_back == 0 || !group->children.empty()) continue;
    group->policy->is_woken_by_connections() ? on_connection(*group) : maintain(*group);
  }
}

}  // namespace quarry::master
