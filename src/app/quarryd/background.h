// Starts quarryd in the background, as a traditional daemon: the command returns when the server is
// ready, with 0, or with 1 if it could not start.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::app {

/// Forks the process that serves, in a new session. The calling process waits in here until the new
/// one is ready, and exits. In the new process, returns the descriptor for be_in_background().
/// Error: kIo.
base::Result<base::Fd> go_to_background();
/// Called when the server is ready: detaches from the terminal, and lets the process that waits at
/// the other end of WAITING exit.
void detach_from_terminal(base::Fd waiting);

}  // namespace quarry::app
