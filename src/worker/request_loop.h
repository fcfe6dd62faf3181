// The worker's loop: serves one request after another, shows each on the scoreboard, and logs
// failed ones with the client's address. An exception from a handler results in a 500, and the loop
// continues.
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
  std::size_t max_requests = 0;  // 0: no limit
  base::AccessLog* access_log = nullptr;
  std::string_view pool;  // for the access log
  int child_accept = -1;  // see WorkerHandles
};

/// Serves until the acceptor ends, or max_requests. When take_reopen_request() says so, reopens the
/// error log and the access log between two requests; without permission to do that, the process
/// exits, because its replacement inherits the logs that the master has reopened.
void serve_requests(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot,
                    const LoopOptions& options);

}  // namespace quarry::worker
