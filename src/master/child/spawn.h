// Starts a child process of a service.
#pragma once

#include <sys/types.h>
#include <csignal>

#include <functional>
#include <optional>

#include "child_output.h"
#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/service.h"

namespace quarry::master {

struct Spawned {
  pid_t pid = -1;
  control::Channel control;           // the master's end; closed if it is not used
  std::optional<OutputPipes> output;  // nullopt: the child's output is not captured
};

/// Blocks all signals during its lifetime: from the fork until the child has reset its handlers.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

/// Called in a forked process. Sets signals as described in service.h and blocks only SIGUSR1.
void put_signals_to_rest();

/// The parameters of a new child, except its service.
struct ChildEnds {
  scoreboard::Board& board;
  std::optional<std::size_t> slot;  // only for functions
  int child_accept;                 // see ChildContext
  /// Whether spawn() waits until the child is about to run its service, or has reported a failure.
  bool is_waited_for;
  /// A program to execute instead of the service's own program. Not owned; can be null.
  const Program* program;
};

/// Forks a child of SERVICE. FORGET_OTHERS runs first in the child. FORGET_OTHERS unmaps the boards
/// of other services and returns the board that SERVICE observes, if any. Errors: kIo; if
/// is_waited_for, also the reason why the child cannot start.
Result<Spawned> spawn(Service& service, const ChildEnds& ends,
                      const std::function<std::optional<scoreboard::Board>()>& forget_others);

}  // namespace quarry::master
