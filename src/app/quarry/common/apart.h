// Runs this program in another process, because a process works on only one repository.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace quarry::app {

/// Runs `quarry` with ARGUMENTS in a child process and returns exit_code_of_child(). If the child
/// cannot be started, prints an error that mentions WHAT, and returns kFailed.
int run_apart(const std::vector<std::string>& arguments, const std::string& what);
/// Waits for the child PID and returns its exit code. If this process receives a signal, it sends
/// SIGTERM to the child.
int exit_code_of_child(pid_t pid);

}  // namespace quarry::app
