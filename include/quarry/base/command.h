// Runs a program in its own process group, with a timeout, and waits until it has ended. May be
// called from any thread because it does not fork.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/spawn.h"

namespace quarry::base {

struct Command {
  std::vector<std::string> words;
  std::vector<std::string> environment = own_environment();  // each "NAME=value"
  std::string_view input = {};                               // passed on standard input
  std::chrono::milliseconds timeout = std::chrono::hours(24);
  std::string folder = "/";
  std::size_t max_output = 8192;  // limit on CommandEnd::output in bytes
};

struct CommandEnd {
  enum class How { kExited, kKilled, kTimedOut, kInterrupted };
  How how = How::kExited;
  int code = 0;        // for kExited: the exit status; for kKilled: the signal
  std::string output;  // the beginning of standard output and standard error combined

  bool is_success() const { return how == How::kExited && code == 0; }
  /// Describes the end in words, such as "exit status 1" or "signal 9".
  std::string in_words() const;
};

/// Runs COMMAND, which is looked up in PATH, and returns when the program itself has ended; its
/// background processes keep running. After the timeout, or when INTERRUPTED returns true, the
/// process group gets SIGTERM and, after a grace period, SIGKILL. Errors: kNotFound, kIo (the
/// program could not be started).
Result<CommandEnd> run_command(
    const Command& command, const std::function<bool()>& interrupted = [] { return false; });

}  // namespace quarry::base
