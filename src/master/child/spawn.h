// Making a child process of a service.
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
  control::Channel control;           // the master's end; closed where it has none
  std::optional<OutputPipes> output;  // nothing: what the child prints is not caught
};

/// Keeps every signal away while it lives: between fork and the moment the child's own are at rest.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

/// In a forked process: the signals of master.h, SIGUSR1 alone blocked.
void put_signals_to_rest();

/// What a child shares with the master, apart from its service.
struct ChildEnds {
  scoreboard::Board& board;
  std::optional<std::size_t> slot;  // of a function; a program has none
  int child_accept;                 // see ChildContext
  /// Whether spawn() returns only when the child is about to run its service, or has said why it
  /// cannot.
  bool is_waited_for;
  /// What is executed, where the service itself does not say it. Not owned; may be null.
  const Program* program;
};

/// Forks a child of SERVICE. FORGET_OTHERS runs in the child first: it takes other services' boards
/// out of its memory, and returns the one that SERVICE observes, if any. Errors:
/// kIo; where the child is waited for, what keeps it from starting.
base::Result<Spawned> spawn(Service& service, const ChildEnds& ends,
                            const std::function<std::optional<scoreboard::Board>()>& forget_others);

}  // namespace quarry::master
