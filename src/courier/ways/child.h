// A program that is run to its end, with a text on its standard input: in a process group of its
// own, which is ended when it takes too long. From any thread; nothing is forked. SIGPIPE has to be
// ignored.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "way.h"

namespace quarry::courier {

struct Command {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // "NAME=value" each
  std::string_view input;
  std::chrono::milliseconds timeout{0};
};

struct Ended {
  enum class How { kExited, kKilled, kTimedOut, kInterrupted };
  How how = How::kExited;
  int code = 0;        // of kExited: its status; of kKilled: the signal
  std::string output;  // of both streams, the beginning: kMostOutput bytes
};
inline constexpr std::size_t kMostOutput = 8192;

/// Runs COMMAND, found in PATH, in the folder /. Returns once the program itself has ended; what it
/// has left running in the background goes on. Once TIME_OUT is over, or INTERRUPTED, its group gets
/// SIGTERM, and SIGKILL a moment later. Errors: kNotFound, kIo, it was not started.
base::Result<Ended> run_to_end(const Command& command, const Interrupted& interrupted);

/// Of this process's environment what a program may rely on: PATH (a usual one where there is none),
/// HOME, USER, LANG, TZ, TMPDIR.
std::vector<std::string> small_environment();
/// The absolute path of the program that NAME is to who has small_environment(); NAME as it is where
/// it has a slash, or there is no such program.
std::string program_path(const std::string& name);
/// "exit status 1", "signal 9" and so on.
std::string in_words(const Ended& ended);

}  // namespace quarry::courier
