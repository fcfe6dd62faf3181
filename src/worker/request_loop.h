// The worker's loop. The loop serves one request after another, publishes each on the scoreboard,
// and logs failed requests with the client's address. If a handler throws an exception, the client
// gets an error with status 500, and the loop continues.
#pragma once

#include <cstddef>
#include <functional>
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
  /// Whether the process serves other connections while a request arrives. If so, it parks a
  /// request that is incomplete after timeouts.head, and does not drain an unread body.
  bool parks_incomplete = false;
  /// Called after SIGUSR1 (take_reopen_request()), before the next line is logged, to replace the
  /// logs with the reopened ones. Can be empty.
  std::function<void()> reopen_logs = {};
};

/// Serves until the acceptor ends, or until max_requests.
void serve_requests(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot,
                    const LoopOptions& options);

}  // namespace quarry::worker
