// The worker's loop: one request after the other, each shown on the scoreboard, each bad one told
// to the log with the client's address. Whatever a handler throws becomes a 500 and the loop goes
// on.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "fastcgi/acceptor.h"
#include "fastcgi/fastcgi_exchange.h"
#include "fastcgi/request.h"
#include "quarry/base/access_log.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::worker {

struct LoopOptions {
  ExchangeTimeouts timeouts;
  std::size_t max_requests = 0;  // 0: no bound
  base::AccessLog* access_log = nullptr;
  std::string_view pool;  // for the access log
  int child_accept = -1;  // see WorkerHandles
};

/// Serves until the acceptor ends, or max_requests. When take_reopen_request() says so, the error
/// log and the access log are opened anew between two requests; where this process may not do that,
/// it ends instead: whoever replaces it inherits the logs that the master has opened anew.
void serve_requests(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot,
                    const LoopOptions& options);

}  // namespace quarry::worker
