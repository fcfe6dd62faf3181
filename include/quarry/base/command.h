// Runs a program to its end, in its own process group, with a timeout. May be called from any
// thread; it does not fork.
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
  std::vector<std::string> environment = own_environment();  // "NAME=value" each
  std::string_view input = {};                               // on its standard input
  std::chrono::milliseconds timeout = std::chrono::hours(24);
  std::string folder = "/";
  std::size_t max_output = 8192;  // bytes
};

struct CommandEnd {
  enum class How { kExited, kKilled, kTimedOut, kInterrupted };
  How how = How::kExited;
  int code = 0;        // of kExited: its status; of kKilled: the signal
  std::string output;  // the beginning of stdout and stderr combined

  bool is_success() const { return how == How::kExited && code == 0; }
  /// "exit status 1", "signal 9" and so on.
  std::string in_words() const;
};

/// Runs COMMAND, found in PATH. Returns when the program itself has ended; its background processes
/// keep running. After the timeout, or when INTERRUPTED returns true, its group gets SIGTERM and,
/// after a grace period, SIGKILL. Errors: kNotFound, kIo (not started).
Result<CommandEnd> run_command(
    const Command& command, const std::function<bool()>& interrupted = [] { return false; });

}  // namespace quarry::base
