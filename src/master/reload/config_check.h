// The program run with --test, before it is to take over: whether the new configuration, and the
// new program, are right.
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

/// What is to be checked.
struct CheckedProgram {
  std::filesystem::path path;
  std::vector<std::string> arguments;  // with the name of the program first
  /// Addresses of the sockets that it would be handed, one a line.
  std::string inheritable;
};

/// One run. Killed where it does not end by itself: see press().
class ConfigCheck {
 public:
  /// Starts PROGRAM, with an event of BASE, which must outlive it. Errors: kIo.
  static base::Result<ConfigCheck> begin(event_base* base, const CheckedProgram& program);

  pid_t pid() const { return run_->pid; }
  /// Kills it if it takes too long. To be called every second.
  void escalate() const;
  void kill() const;
  /// Of the process that has ended with STATUS: whether all is right. What it has said is told to
  /// the log where it is not.
  bool conclude(int status);

 private:
  struct Run {
    pid_t pid = -1;
    base::Fd output;
    std::string text;
    base::Event event;  // after what it watches
    std::chrono::steady_clock::time_point started;

    void take_output();
  };

  explicit ConfigCheck(std::unique_ptr<Run> run) : run_(std::move(run)) {}

  std::unique_ptr<Run> run_;  // where its event finds it
};

}  // namespace quarry::master
