// The HTTP front of quarryd: HTTP/1.0 and 1.1 in, one FastCGI request out to the pool for each.
//
//   client ── HTTP ──> gateway ── FastCGI ──> pool's socket ──> worker
//
// It exists so that Quarry serves without a web server beside it. Runs in a child of the master, in
// one thread, on libevent; it opens no repository and never forks. A request is sent on only when
// it is whole, and a reply goes out only when it is whole, so that a slow client holds no worker.
// When all workers are busy, requests wait in the backlog of the pool's socket.
#pragma once

#include "quarry/gateway/gateway_options.h"

namespace quarry::gateway {

/// Serves until SIGTERM (drops what is under way) or SIGQUIT (accepts nothing more, finishes what
/// is under way, answers what comes within stop_grace on connections that it has kept, and says
/// with each reply that it is the connection's last). SIGUSR1 has the log opened anew. SIGINT is
/// ignored: a Ctrl-C on the terminal is the master's to act on. Returns the process's exit code: 0,
/// or 1 when it could not start (logged).
int run(const GatewayOptions& options);

}  // namespace quarry::gateway
