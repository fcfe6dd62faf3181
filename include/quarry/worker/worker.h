// The worker: a child of a pool. It is one process that answers many FastCGI requests, one at a
// time:
//
//   wait for a connection ─ read the request ─ find the repository ─ sync session ─ send the reply
//
// It does not fork, keeps a few repositories open between requests, and holds no transaction while
// it reads from or writes to a client. It enforces its own limits and timeouts because libfcgi has
// none.
#pragma once

#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/base/socket.h"
#include "quarry/control/channel.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

/// Handles that the master provides. None of them is owned.
struct WorkerHandles {
  int listener;
  scoreboard::Board& board;
  scoreboard::Slot& slot;
  control::Channel& control;
  /// Descriptor on which each return from accept() is reported, or -1 if it is not to be reported.
  int child_accept = -1;
};

/// Serves until SIGQUIT, SIGTERM, the master's exit, or max_requests. SIGQUIT finishes the
/// in-flight request; SIGTERM aborts it at the next point where it waits for the client. SIGUSR1
/// reopens the logs between two requests, or ends the worker if the worker may not open them.
/// Returns the exit code: 0, or 1 if it could not start (the reason is logged).
int run(const WorkerOptions& options, const WorkerHandles& handles);

/// Options of the process that serves a pool's status pages on their own address. It does nothing
/// else, so it answers while all of the pool's workers are busy.
struct StatusServerOptions {
  StatusOptions status;
  base::ListenQueue queue;  // of the pool's listening socket
  std::vector<base::SocketAddress> allowed_clients;
};

struct StatusServerHandles {
  int listener;
  const scoreboard::Board& pool_board;
  scoreboard::Slot& slot;  // the slot of this process, on its own board
  control::Channel& control;
};

/// Serves the status pages in the same way as run(). Does not open a repository.
int run_status(const StatusServerOptions& options, const StatusServerHandles& handles);

}  // namespace quarry::worker
