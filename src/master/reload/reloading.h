// Reloads the master without losing a connection.
//
//   SIGUSR2 ─> run the program with --test ─> failed: the reason is logged, nothing else happens
//                                          └> passed: execve(2) of the program in this process
//
// The check runs the new program with the new configuration. The new master takes over the
// listening sockets, which stay open during the reload. The new master also takes over the
// scoreboards (succession.h) and the children, because the process stays the same (handover.h).
// First, the new master starts its own children. Then it asks the previous generation to exit
// (previous_generation.h): idle children end immediately, others after their request, within
// process_control_timeout. If a reload is requested during a check, the check is repeated. A reload
// that is requested during a stop is ignored. If execve(2) fails, the master continues as before.
// If the new program cannot start its services, because a file has changed after the check, it
// starts them with the previous configuration, which it has inherited.
//
// This class only makes decisions, which its caller carries out.
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
  /// Addresses of the sockets that the reload passes on, one per line.
  std::string inheritable;
};

/// The next step after a check.
enum class AfterCheck {
  kNothing,
  kExecute,
  /// The check has failed in an emergency: replace all children without a reload.
  kReplaceChildren,
};

class Reloading {
 public:
  /// Creates the object. PROGRAM_TO_CHECK returns the program, and the sockets that the reload
  /// passes on. BASE and MASTER_STATE must outlive this object.
  Reloading(event_base* base, const MasterState& master_state,
            std::function<CheckedProgram()> program_to_check)
      : base_(base), master_state_(master_state), program_to_check_(std::move(program_to_check)) {}
  Reloading(const Reloading&) = delete;
  Reloading& operator=(const Reloading&) = delete;

  /// Requests a reload. If IS_EMERGENCY, the children have to be replaced in any case. Returns
  /// false if the check cannot be started. That error is logged.
  bool ask(bool is_emergency);
  bool is_check(pid_t pid) const { return check_ && check_->pid == pid; }
  /// Handles the exit of the check's process with STATUS.
  AfterCheck check_ended(int status);
  /// Kills a check that takes too long. Called every second.
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

  Result<void> begin_check(const CheckedProgram& program);
  void take_output();

  event_base* base_;
  const MasterState& master_state_;
  std::function<CheckedProgram()> program_to_check_;
  std::optional<Check> check_;
  bool is_outdated_ = false;  // whether a reload was requested during the check
  bool is_emergency_ = false;
};

}  // namespace quarry::master
