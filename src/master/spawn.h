// Making a child process of a service.
#pragma once

#include <sys/types.h>

#include <functional>

#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/master.h"

namespace quarry::master {

struct Spawned {
  pid_t pid = -1;
  control::Channel control;  // the master's end
};

/// What a child shares with the master, apart from its service.
struct ChildEnds {
  scoreboard::Board& board;
  std::size_t slot;
  int child_accept;  // see ChildContext
};

/// Forks a child of SERVICE. FORGET_OTHERS runs in the child first: it takes other services' boards
/// out of its memory, and returns the one that SERVICE observes, if any, to be read only. Errors:
/// kIo.
base::Result<Spawned> spawn(Service& service, const ChildEnds& ends,
                            const std::function<std::optional<scoreboard::Board>()>& forget_others);

}  // namespace quarry::master
