// process.max: the children of all pools together stay within a bound, whatever the pools would
// have.
#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {
namespace {

bool is_pool(ServiceKind kind) {
  return kind == ServiceKind::kPool;
}

}  // namespace

bool Master::Loop::may_fork(Group& group) {
  if (global_.process_max == 0 || !is_pool(group.service.kind)) return true;
  if (living(is_pool) < global_.process_max) {
    group.is_held_short = false;
    return true;
  }
  if (!std::exchange(group.is_held_short, true)) {
    base::log(base::LogLevel::kWarning,
              "[{}] process.max ({}) is reached: it has {} children of {}", group.service.name,
              global_.process_max, group.children.size(), group.service.children);
  }
  return false;
}

// A pool that had to do with less takes the place of another one's child.
void Master::Loop::fill_what_is_short() {
  for (const auto& group : groups_) {
    const bool must_wait = ::event_pending(group->respawn_timer.get(), EV_TIMEOUT, nullptr) != 0;
    if (group->is_held_short && !must_wait) fill(*group);
  }
}

}  // namespace quarry::master
