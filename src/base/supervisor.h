// The supervisor of a program (Launch::supervision): a forked child that starts the program and
// waits for its exit. The supervisor is a subreaper: if the parent of a descendant exits, the
// supervisor becomes the parent. Therefore, the supervisor can find all descendants.
//
//   caller -> guard -> supervisor -> program -> ...
//
// The program has the supervisor's user, so it can kill or stop the supervisor. Therefore, the
// guard supervises the supervisor in the same way. A program can escape if it kills both the guard
// and the supervisor. Such a program could also kill the caller.
#pragma once

#include <sys/types.h>

#include <csignal>

#include "quarry/base/spawn.h"

namespace quarry::base {

/// The signal that makes a supervisor kill all descendants.
inline constexpr int kEndSupervised = SIGQUIT;

/// Prepares this process, a forked child, for supervise(), and shows it as NAME and TITLE in ps(1).
/// Call this function before the program is started.
void prepare_supervisor(const char* name, const char* title);

/// Waits until PROGRAM, a child of this process, has exited. CALLER is a pidfd of the process that
/// called spawn(). Closes all other descriptors, so that pipes to the program are closed when the
/// program exits.
[[noreturn]] void supervise(pid_t program, int caller, Background background);

/// Sends SIGNAL to all children of PROCESS, which has a single thread. Does not allocate memory.
void signal_children(pid_t process, int signal);

}  // namespace quarry::base
