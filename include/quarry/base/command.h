// Runs a program in its own process group, with a timeout, and waits until it exits. Thread-safe.
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
  Background background = Background::kEnds;
};

struct CommandEnd {
  enum class How { kExited, kKilled, kTimedOut, kInterrupted };
  How how = How::kExited;
  int code = 0;        // kExited: exit status; kKilled: signal
  std::string output;  // standard output and standard error combined, truncated to max_output bytes

  bool is_success() const { return how == How::kExited && code == 0; }
  /// Describes how the program ended, such as "exit status 1" or "signal 9".
  std::string in_words() const;
};

/// Runs COMMAND and waits until it exits. A name without a slash is looked up in PATH. After the
/// timeout, or when INTERRUPTED returns true, the process group gets SIGTERM and, after a grace
/// period, SIGKILL. All descendants of COMMAND are then killed too, except those that run as
/// another user. The same happens when the caller is killed. Errors: kNotFound, kIo (cannot start
/// the program).
Result<CommandEnd> run_command(
    const Command& command, const std::function<bool()>& interrupted = [] { return false; });

}  // namespace quarry::base
