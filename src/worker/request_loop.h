// The worker's loop. It serves one request after another, shows each on the scoreboard, and logs
// failed ones with the client's address. If a handler throws an exception, the client gets a 500
// and the loop continues.
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

/// Serves until the acceptor ends, or max_requests is reached. After SIGUSR1
/// (take_reopen_request()), it reopens the error log and the access log between two requests. If it
/// has no permission for that, the process exits, because its replacement inherits the logs that
/// the master has reopened.
void serve_requests(Acceptor& acceptor, Handler& handler, scoreboard::Slot& slot,
                    const LoopOptions& options);

}  // namespace quarry::worker
