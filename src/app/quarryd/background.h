// Going to the background, as daemons did before there were service managers: the command returns
// when the server is ready, with 0, or with 1 when it could not start.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::app {

/// Makes the process that serves, in a session of its own; the one that called waits for it in here
/// and ends. Returns in the new process: what be_in_background() is given. Errors: kIo.
base::Result<base::Fd> go_to_background();
/// The server is ready: lets the terminal go, and the process that waits at the end of WAITING end.
void be_in_background(base::Fd waiting);

}  // namespace quarry::app
