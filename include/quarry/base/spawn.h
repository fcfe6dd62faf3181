// Starts child processes. A program is started with exactly the given descriptors, with default
// signal handling and in its own process group. Any thread can call spawn(), because spawn() does
// not fork.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/confinement.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// Returns this process's environment as "NAME=value" strings.
std::vector<std::string> own_environment();

struct Launch {
  /// The program and its arguments. A name without a slash is looked up in PATH.
  std::vector<std::string> words;
  /// Path of the program, if it differs from the first word.
  std::string program = {};
  std::vector<std::string> environment = own_environment();
  /// The program's descriptors 0, 1, 2 and so on. The caller keeps ownership.
  std::vector<int> descriptors = {};
  std::string folder = "/";  // "": the caller's working folder
  /// If false, the program stays in the caller's process group and ignores the signals that the
  /// caller ignores. The program and the caller can then share a terminal.
  bool has_own_group = true;
  /// If null, the program is not confined.
  const Confinement* confinement = nullptr;
};

/// Returns WORDS as an argv for execve(2). WORDS must outlive the result.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// Starts a program and returns its process id, which is also the id of its process group. Errors:
/// kNotFound, kIo.
Result<pid_t> spawn(const Launch& launch);

/// Waits until the child PID has exited. Returns its status as waitpid(2) does, or nullopt on
/// failure.
std::optional<int> wait_for_end(pid_t pid);

/// Makes this process a subreaper: if the parent of a descendant exits, this process becomes the
/// parent. Then end_descendants() finds all descendants. Error: kIo.
Result<void> adopt_orphans();

/// Kills all descendants of this process, including descendants in other groups and sessions, and
/// waits until they have exited. adopt_orphans() must have been called, and other threads must not
/// have children. Returns false if some descendants still run after ten seconds, for example
/// because they run as another user.
bool end_descendants();

/// Runs WORK in a forked child and returns its result. Errors: kIo (fork failed, or the child ended
/// without a result).
Result<std::string> run_in_child(const std::function<std::string()>& work);

/// Closes all descriptors except KEPT and the standard streams.
void close_all_but(std::span<const int> kept);

/// Returns the variable PATH, or the default folders if it is not set.
std::string search_path();
/// Returns the path of the executable NAME. If NAME does not contain a slash, searches the absolute
/// folders in FOLDERS, separated by ':'. Returns an empty string if the executable is not found.
std::string find_program(const std::string& name, const std::string& folders = search_path());

}  // namespace quarry::base
