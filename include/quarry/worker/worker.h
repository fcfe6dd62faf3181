// A worker is a child of a pool. It answers many FastCGI requests, one at a time:
//
//   wait for a connection ─ read the request ─ find the repository ─ sync session ─ send the reply
//
// A worker never forks, and keeps a few repositories open between requests. A worker does not hold
// a transaction while it reads from or writes to a client. The worker enforces limits and timeouts
// itself, because libfcgi does not have any.
#pragma once

#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/base/socket.h"
#include "quarry/control/channel.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

/// Handles from the master, which are not owned.
struct WorkerHandles {
  int listener;
  scoreboard::Board& board;
  scoreboard::Slot& slot;
  control::Channel& control;
  /// The worker reports each return from accept() on this descriptor. -1: no reports.
  int child_accept = -1;
};

/// Serves until SIGQUIT or SIGTERM, until the master exits, or for max_requests requests. SIGQUIT
/// finishes the in-flight request; SIGTERM aborts that request when the worker next waits for the
/// client. After SIGUSR1, the worker switches to the logs that the master has reopened, between two
/// requests. Returns the exit code: 0, or 1 if the worker could not start (the reason is logged).
int run(const WorkerOptions& options, const WorkerHandles& handles);

/// Options of the process that serves a pool's status pages on a separate address. This process
/// answers even if all of the pool's workers are busy.
struct StatusServerOptions {
  StatusOptions status;
  base::ListenQueue queue;  // queue of the pool's listening socket
  std::vector<base::SocketAddress> allowed_clients;
};

struct StatusServerHandles {
  int listener;
  const scoreboard::Board& pool_board;
  scoreboard::Slot& slot;  // the slot of this process, on its own board
  control::Channel& control;
};

/// Serves the status pages, with the same signals as run(). Does not open repositories.
int run_status(const StatusServerOptions& options, const StatusServerHandles& handles);

}  // namespace quarry::worker
