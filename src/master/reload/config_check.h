// Runs the program with --test before a reload, to check the new configuration and the new program.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

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

/// A single check; see escalate() for its timeout.
class ConfigCheck {
 public:
  /// Starts PROGRAM. BASE must outlive the check. Errors: kIo.
  static base::Result<ConfigCheck> begin(event_base* base, const CheckedProgram& program);

  pid_t pid() const { return run_->pid; }
  /// Kills the check if it takes too long. Call it every second.
  void escalate() const;
  void kill() const;
  /// Whether the check, which has ended with STATUS, has succeeded. Logs its output if not.
  bool conclude(int status);

 private:
  struct Run {
    pid_t pid = -1;
    base::Fd output;
    std::string text;
    base::Event event;  // after the descriptor that it watches
    std::chrono::steady_clock::time_point started;

    void take_output();
  };

  explicit ConfigCheck(std::unique_ptr<Run> run) : run_(std::move(run)) {}

  std::unique_ptr<Run> run_;  // on the heap, because its event points to it
};

}  // namespace quarry::master
