// process.max: the children of all pools together stay within a bound, whatever the pools would
// have.
#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {
bool Master::Loop::may_fork(Group& group) {
  if (global_.process_max == 0 || group.service.kind != ServiceKind::kPool) return true;
  // Those of earlier generations, which finish, are beyond it for a while.
  std::size_t alive = 0;
  for (const auto& one : groups_) {
    if (one->service.kind == ServiceKind::kPool) alive += one->children.size();
  }
  if (alive < global_.process_max) {
    group.is_held_short = false;
    return true;
  }
  if (!std::exchange(group.is_held_short, true)) {
    base::log(base::LogLevel::kWarning,
              "[{}] process.max ({}) is reached: it has {} children of {}", group.service.name,
              global_.process_max, group.children.size(), group.service.processes.max_children);
  }
  return false;
}

// A pool that had to do with less takes the place of another one's child.
void Master::Loop::fill_what_is_short() {
  for (const auto& group : groups_) {
    if (group->is_held_short) maintain(*group);
  }
}

}  // namespace quarry::master
