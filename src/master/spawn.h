// Making a child process of a service.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "child_output.h"
#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/master.h"

namespace quarry::master {

struct Spawned {
  pid_t pid = -1;
  control::Channel control;           // the master's end
  std::optional<OutputPipes> output;  // nothing: what the child prints is not caught
};

/// Forks a child of SERVICE that uses slot INDEX of BOARD. FORGET_OTHERS runs in the child first:
/// it takes other services' boards out of its memory. Errors: kIo.
base::Result<Spawned> spawn(Service& service, scoreboard::Board& board, std::size_t index,
                            const std::function<void()>& forget_others);

}  // namespace quarry::master
