// Starts child processes. A program is started with exactly the given descriptors, with default
// signal handling and in its own process group. spawn() may be called from any thread because it
// does not fork.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// Returns this process's environment as "NAME=value" strings.
std::vector<std::string> own_environment();

struct Launch {
  /// The program and its arguments. The program is looked up in PATH if it has no slash.
  std::vector<std::string> words;
  /// The program's file, if it differs from the first word.
  std::string program = {};
  std::vector<std::string> environment = own_environment();
  /// The program's descriptors 0, 1, 2 and so on. The caller keeps its own descriptors.
  std::vector<int> descriptors = {};
  std::string folder = "/";  // "": the caller's working folder
  /// If false, the program stays in the caller's process group and ignores the signals that the
  /// caller ignores, so that both share a terminal.
  bool has_own_group = true;
};

/// Returns WORDS as an argv for execve(2). WORDS must outlive the result.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// Starts a program and returns its process id, which is also the id of its own group. Errors:
/// kNotFound, kIo.
Result<pid_t> spawn(const Launch& launch);

/// Waits for the child PID to end and returns its status as in waitpid(2), or nullopt on failure.
std::optional<int> wait_for_end(pid_t pid);

/// Runs WORK in a forked child and returns its result. Errors: kIo (the fork failed, or the child
/// ended without a result).
Result<std::string> run_in_child(const std::function<std::string()>& work);

/// Closes all descriptors except KEPT and the standard streams.
void close_all_but(std::span<const int> kept);

/// Returns the value of PATH, or the default folders if PATH is not set.
std::string search_path();
/// Returns the executable file NAME, which is a path or is looked up in the absolute folders of
/// PATH. Returns an empty string if there is none.
std::string find_program(const std::string& name);

}  // namespace quarry::base
