// The HTTP front of quarryd. It translates each HTTP/1.0 or 1.1 request into a FastCGI request to
// the pool.
//
//   client ── HTTP ──> gateway ── FastCGI ──> pool's socket ──> worker
//
// With the front, Quarry does not need a separate web server. The front runs in a child of the
// master, in one thread with libevent; it does not open repositories and never forks. It forwards
// only complete requests and replies, so that a slow client does not occupy a worker. While all
// workers are busy, requests wait in the backlog of the pool's socket.
#pragma once

#include "quarry/gateway/gateway_options.h"

namespace quarry::gateway {

/// Serves until SIGTERM or SIGQUIT. SIGTERM aborts in-flight requests. SIGQUIT stops accepting
/// connections, finishes in-flight requests, answers requests that arrive within stop_grace on
/// kept-alive connections, and closes each connection after its reply. SIGUSR1 reopens the log.
/// SIGINT is ignored because the master handles Ctrl-C. Returns the process's exit code: 0, or 1 if
/// it could not start (the reason is logged).
int run(const GatewayOptions& options);

}  // namespace quarry::gateway
