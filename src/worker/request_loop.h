// The worker's loop: one request after the other, each shown on the scoreboard, each bad one told
// to the log with the client's address. Whatever a handler throws becomes a 500 and the loop goes
// on.
#pragma once

#include <chrono>
#include <cstddef>

#include "acceptor.h"
#include "quarry/scoreboard/scoreboard.h"
#include "request.h"

namespace quarry::worker {

struct LoopOptions {
  std::chrono::seconds timeout{60};
  std::size_t max_requests = 0;  // 0: no bound
  int access_log = -1;           // -1: none
  int child_accept = -1;         // see WorkerHandles
};

/// Serves until the acceptor ends, or max_requests.
void serve_requests(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot,
                    const LoopOptions& options);

}  // namespace quarry::worker
