// The worker: a child of a pool. One process answers many FastCGI requests, one after another.
//
//   wait for a connection ─ read the request ─ find the repository ─ sync session ─ send the reply
//
// It does not fork, keeps a few repositories open between requests, and holds no transaction while
// it reads from or writes to a client. It enforces its own limits and timeouts, since libfcgi has
// none.
#pragma once

#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/base/socket.h"
#include "quarry/control/channel.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

/// Handles from the master; none is owned.
struct WorkerHandles {
  int listener;
  scoreboard::Board& board;
  scoreboard::Slot& slot;
  control::Channel& control;
  /// Descriptor on which each return from accept() is reported; -1: not reported.
  int child_accept = -1;
};

/// Serves until SIGQUIT (finishes the in-flight request), SIGTERM (aborts it where it waits for the
/// client), the master's exit, or max_requests. SIGUSR1 reopens the logs between two requests, or
/// ends the worker if it is not permitted to. Returns the exit code: 0, or 1 if it could not start
/// (logged).
int run(const WorkerOptions& options, const WorkerHandles& handles);

/// Serves a pool's status pages on their own address, from a process that does nothing else and so
/// answers while all of the pool's workers are busy.
struct StatusServerOptions {
  StatusOptions status;
  base::ListenQueue queue;  // of the pool
  std::vector<base::SocketAddress> allowed_clients;
};

struct StatusServerHandles {
  int listener;
  const scoreboard::Board& pool_board;
  scoreboard::Slot& slot;  // of this process, on its own board
  control::Channel& control;
};

/// Like run(), for the status pages. Opens no repository.
int run_status(const StatusServerOptions& options, const StatusServerHandles& handles);

}  // namespace quarry::worker
