// Child processes. Another program is started with the descriptors that it is given and no other,
// and its signals as they are by default, in a process group of its own: from any thread, since
// nothing is forked.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// This process's environment, "NAME=value" each.
std::vector<std::string> own_environment();

struct Launch {
  /// The program, which is looked for in PATH where it has no slash, and its arguments.
  std::vector<std::string> words;
  /// The program's file, if it is not the first of the words.
  std::string program = {};
  std::vector<std::string> environment = own_environment();
  /// What it has open as 0, 1, 2 and so on; they stay the caller's.
  std::vector<int> descriptors = {};
  std::string folder = "/";  // "": the caller's
  /// False: it stays in the caller's group, and ignores the signals that the caller ignores, so that
  /// both have the same terminal.
  bool has_own_group = true;
};

/// WORDS as execve(2) has them, which must outlive them.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// Starts it; returns its process id, which is that of its group as well. Errors: kNotFound, kIo.
Result<pid_t> spawn(const Launch& launch);

/// Waits for the end of the child PID. Its status, as waitpid(2) has it; nothing if it is not known.
std::optional<int> wait_for_end(pid_t pid);

/// Runs WORK in a forked child and returns its text. Errors: kIo: there is no child, or it ended
/// early.
Result<std::string> run_in_child(const std::function<std::string()>& work);

/// Closes all descriptors but KEPT and the standard streams.
void close_all_but(std::span<const int> kept);

/// PATH, or the usual folders if it is not set.
std::string search_path();
/// The executable file that NAME is, or has in one of PATH's absolute folders. Empty if there is none.
std::string find_program(const std::string& name);

}  // namespace quarry::base
