// When the master becomes a new one, without losing a connection.
//
//   SIGUSR2 ─> the program is run with --test ─> wrong: the log says why, nothing else happens
//                                             └> right: execve(2) of the program, in this process
//
// What it takes over is in handover.h: the listening sockets, which stay open all the time, the
// scoreboards (succession.h), and the children, which stay this process's. The new master starts
// its own children first, and then asks the elders to finish: idle ones end at once, others after
// their request, within process_control_timeout (previous_generation.h). A reload in the middle of another is
// checked once more; one in the middle of a stop is none. Where execve(2) fails, everything goes on
// as before.
//
// This decides; who is told so carries it out.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "config_check.h"
#include "pool/master_state.h"

namespace quarry::master {

/// What follows from the end of a check.
enum class AfterCheck {
  kNothing,
  kExecute,  // the program is to be executed
  /// All children have to be replaced, and the program is none that could do it.
  kReplaceChildren,
};

class Reloading {
 public:
  /// PROGRAM_TO_CHECK: what is executed, with the sockets that it would be handed then. BASE and
  /// MASTER_STATE must outlive it.
  Reloading(event_base* base, const MasterState& master_state,
            std::function<CheckedProgram()> program_to_check)
      : base_(base), master_state_(master_state), program_to_check_(std::move(program_to_check)) {}

  /// Somebody wants a reload. IS_EMERGENCY: the children have to be replaced in any case.
  void ask(bool is_emergency);
  /// Whether PID is the process of the check that is under way.
  bool is_check(pid_t pid) const { return check_ && check_->pid() == pid; }
  /// That process has ended with STATUS.
  AfterCheck check_ended(int status);
  /// Ends a check that takes too long. To be called every second.
  void escalate() const;
  /// The master stops: what is checked is of no use.
  void abandon() const;

 private:
  event_base* base_;
  const MasterState& master_state_;
  std::function<CheckedProgram()> program_to_check_;
  std::optional<ConfigCheck> check_;
  bool is_outdated_ = false;  // asked for again since the check began
  bool is_emergency_ = false;
};

}  // namespace quarry::master
