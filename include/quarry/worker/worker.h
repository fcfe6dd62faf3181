// The worker: a child of a pool that answers FastCGI requests, many in one process.
//
//   wait for a connection ─ read the request ─ find the repository ─ sync session ─ send the reply
//
// It never forks, keeps a few repositories open between requests, and holds no transaction while it
// reads from or writes to a client. Its limits and time-outs are its own: libfcgi has none.
#pragma once

#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/base/socket.h"
#include "quarry/control/channel.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

/// What the master gave this child; nothing of it is owned.
struct WorkerHandles {
  int listener;
  scoreboard::Board& board;
  scoreboard::Slot& slot;
  control::Channel& control;
  /// Where each return from accept() is told; -1: nobody wants to know.
  int child_accept = -1;
};

/// Serves until SIGQUIT (the request in flight is finished), SIGTERM (it is given up where it waits
/// for the client), the master's end, or max_requests. SIGUSR1 has the logs opened anew between two
/// requests, or ends the worker where it has no right to. Returns the exit code: 0, or 1 when it
/// could not start (logged).
int run(const WorkerOptions& options, const WorkerHandles& handles);

/// The pages about a pool on an address of their own, from a process that does nothing else and so
/// answers while all the pool's workers are busy.
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

/// As run(), for them. It opens no repository.
int run_status(const StatusServerOptions& options, const StatusServerHandles& handles);

}  // namespace quarry::worker
