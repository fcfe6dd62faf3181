// Runs this program in another process, because a process works on only one repository.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace quarry::app {

/// Runs `quarry` with ARGUMENTS in a separate process, and passes signals on to it. Returns the
/// exit code of this process. If the process cannot be started, prints an error that mentions WHAT,
/// and returns kFailed.
int run_apart(const std::vector<std::string>& arguments, const std::string& what);
/// Waits for the child PID, and passes signals on to it. Returns its exit code.
int exit_code_of_child(pid_t pid);

}  // namespace quarry::app
