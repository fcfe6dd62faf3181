// Starts child processes. A program is started with exactly the given descriptors, with default
// signal handling and in its own process group. Any thread can call spawn().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/confinement.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// Returns this process's environment as "NAME=value" strings.
std::vector<std::string> own_environment();

/// Whether a supervised program's descendants are killed or continue when the program exits by
/// itself.
enum class Background { kEnds, kContinues };

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
  std::uint64_t max_address_space = 0;  // limit in bytes; 0: the caller's limit
  /// If set, a supervisor is started between the caller and the program. The supervisor can kill
  /// all descendants of the program, including descendants in other groups and sessions. It kills
  /// them when end_supervised() is called, when a signal ends the program, when the program exits
  /// after SIGTERM, and when the caller's process exits for any reason. The supervisor passes
  /// SIGTERM on to the program's group, and exits in the same way as the program. The program might
  /// kill or stop its supervisor. Therefore, a second process, the guard, supervises the supervisor
  /// in the same way. spawn() returns the process id of the guard. Requires has_own_group.
  std::optional<Background> supervision = {};
};

/// Returns WORDS as an argv for execve(2). WORDS must outlive the result.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// Starts a program and returns its process id, which is also the id of its process group unless
/// the program is supervised. Errors: kNotFound, kIo.
Result<pid_t> spawn(const Launch& launch);

/// Returns a pidfd of the process PID, or an invalid descriptor on failure (see errno).
Fd process_handle(pid_t pid);

/// Waits until the child PID has exited. Returns its status as waitpid(2) does, or nullopt on
/// failure.
std::optional<int> wait_for_end(pid_t pid);

/// Makes PID, as returned by spawn(), kill the supervised program and all its descendants with
/// SIGKILL. PID exits when they have ended, or after ten seconds, because it cannot kill a
/// descendant that runs as another user.
void end_supervised(pid_t pid);

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
/// If the first line of the script PATH names an interpreter that is not an executable file,
/// returns the interpreter. Otherwise, and if PATH cannot be read, returns an empty string.
std::string missing_interpreter(const std::string& path);

}  // namespace quarry::base
