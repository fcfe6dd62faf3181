// Who sees whose board: the master all of them, a child its own and, where its service observes
// another, that one without the right to write.
#include "loop.h"
#include "quarry/base/log.h"

namespace quarry::master {

void Master::Loop::watch_pools() {
  for (const auto& group : groups_) group->watch.look(group->slots);
}

/// In a new child of GROUP.
std::optional<scoreboard::Board> Master::Loop::forget_others(const Group& group) {
  std::optional<scoreboard::Board> observed;
  for (const auto& other : groups_) {
    if (other.get() == &group) continue;
    if (!group.service.observes.empty() && other->service.name == group.service.observes) {
      auto board = other->board.read_only();
      if (board) {
        observed = std::move(*board);
      } else {
        base::log(base::LogLevel::kError, "cannot observe [{}]: {}", other->service.name,
                  board.error().message);
      }
    }
    other->board.unmap();
  }
  return observed;
}

}  // namespace quarry::master
