// The HTTP front of quarryd. It translates each HTTP/1.0 or 1.1 request into a FastCGI request to
// the pool.
//
//   client ── HTTP ──> gateway ── FastCGI ──> pool's socket ──> worker
//
// With the front, Quarry does not need a separate web server. The front runs in a child of the
// master, in one thread with libevent. The front never opens repositories and never forks. The
// front forwards only complete requests and replies, so slow clients do not occupy workers. While
// all workers are busy, requests wait in the backlog of the pool's socket.
#pragma once

#include <functional>

#include "quarry/gateway/gateway_options.h"

namespace quarry::gateway {

/// Serves until SIGTERM or SIGQUIT. SIGTERM aborts in-flight requests. After SIGQUIT, the front
/// does not accept new connections, but finishes in-flight requests. During stop_grace, it also
/// answers new requests on kept-alive connections, and closes each connection after the reply.
/// SIGUSR1 calls REOPEN_LOG. SIGINT is ignored because the master handles Ctrl-C. Returns the exit
/// code of the process: 0, or 1 if the front could not start (the reason is logged).
int run(const GatewayOptions& options, const std::function<void()>& reopen_log);

}  // namespace quarry::gateway
