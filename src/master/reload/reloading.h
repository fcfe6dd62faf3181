// Reloads the master without losing a connection.
//
//   SIGUSR2 ─> run the program with --test ─> failed: the reason is logged, nothing else happens
//                                          └> passed: execve(2) of the program in this process
//
// The check runs the new program with the new configuration. The new master takes over the
// listening sockets, which stay open all the time, the scoreboards (succession.h), and the
// children, which remain children of this process (handover.h). First it starts its own children.
// Then it asks the previous generation to end: idle children end immediately, others after their
// request, within process_control_timeout (previous_generation.h). If a reload is requested during
// a check, the check is repeated; during a stop, the request is ignored. If execve(2) fails, the
// master continues as before.
//
// This class decides, and its caller carries out the decisions.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pool/master_state.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::master {

struct CheckedProgram {
  std::filesystem::path path;
  std::vector<std::string> arguments;  // argv, with the program's name first
  /// Addresses of the sockets that would be handed over, one per line.
  std::string inheritable;
};

/// What the caller has to do after a check.
enum class AfterCheck {
  kNothing,
  kExecute,  // execute the program
  /// In an emergency: replace all children without a reload, because the check has failed.
  kReplaceChildren,
};

class Reloading {
 public:
  /// PROGRAM_TO_CHECK returns the program and the sockets that would be handed over. BASE and
  /// MASTER_STATE must outlive this object.
  Reloading(event_base* base, const MasterState& master_state,
            std::function<CheckedProgram()> program_to_check)
      : base_(base), master_state_(master_state), program_to_check_(std::move(program_to_check)) {}
  Reloading(const Reloading&) = delete;
  Reloading& operator=(const Reloading&) = delete;

  /// Requests a reload. With IS_EMERGENCY, the children have to be replaced in any case. Returns
  /// false if the check cannot be started, which is logged.
  bool ask(bool is_emergency);
  /// Returns whether PID is the process of the current check.
  bool is_check(pid_t pid) const { return check_ && check_->pid == pid; }
  /// Handles the end of the check with STATUS.
  AfterCheck check_ended(int status);
  /// Kills a check that takes too long. Call this every second.
  void escalate() const;
  /// Kills the check because the master is stopping.
  void abandon() const;

 private:
  struct Check {
    pid_t pid = -1;
    base::Fd output;
    std::string text;
    base::Event event;  // declared after the descriptor that it watches
    std::chrono::steady_clock::time_point started;
  };

  base::Result<void> begin_check(const CheckedProgram& program);
  void take_output();

  event_base* base_;
  const MasterState& master_state_;
  std::function<CheckedProgram()> program_to_check_;
  std::optional<Check> check_;
  bool is_outdated_ = false;  // a reload was requested after the check began
  bool is_emergency_ = false;
};

}  // namespace quarry::master
