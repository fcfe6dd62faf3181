// A program that is run to its end, in a process group of its own, which is ended when it takes too
// long. From any thread; nothing is forked.
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
  std::string output;  // of both streams: its beginning

  bool is_success() const { return how == How::kExited && code == 0; }
  /// "exit status 1", "signal 9" and so on.
  std::string in_words() const;
};

/// Runs COMMAND, found in PATH. Returns once the program itself has ended; what it has left running
/// in the background goes on. After its timeout, or when INTERRUPTED returns true, its group gets
/// SIGTERM, and SIGKILL a moment later. Errors: kNotFound, kIo: it was not started.
Result<CommandEnd> run_command(
    const Command& command, const std::function<bool()>& interrupted = [] { return false; });

}  // namespace quarry::base
