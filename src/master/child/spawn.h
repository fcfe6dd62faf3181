// Starts a child process of a service.
#pragma once

#include <sys/types.h>
#include <csignal>

#include <functional>
#include <optional>
#include <vector>

#include "child_output.h"
#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/service.h"

namespace quarry::master {

struct Spawned {
  pid_t pid = -1;
  control::Channel control;           // the master's end; closed if the child has no channel
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

/// Called in a forked process: sets signals as described in service.h, with only SIGUSR1 blocked.
void put_signals_to_rest();

/// What a child shares with the master, apart from its service.
struct ChildEnds {
  scoreboard::Board& board;
  std::optional<std::size_t> slot;  // only for functions
  int child_accept;                 // see ChildContext
  /// Whether spawn() waits until the child is about to run its service, or has reported why it
  /// cannot.
  bool is_waited_for;
  /// The program to execute, if it is not the service's own. Not owned; may be null.
  const Program* program;
};

/// Forks a child of SERVICE. FORGET_OTHERS runs first in the child: it unmaps the boards of other
/// services and returns the board that SERVICE observes, if any. Errors: kIo; with is_waited_for,
/// also the reason why the child cannot start.
base::Result<Spawned> spawn(Service& service, const ChildEnds& ends,
                            const std::function<std::optional<scoreboard::Board>()>& forget_others);

}  // namespace quarry::master
