// Passes connections from one process to another: their descriptors are sent (SCM_RIGHTS) over a
// socket pair that both inherit from their parent, so that no other process can pass connections.
//
// The sender must not have read from a connection, or that data would be lost. Each message is one
// byte and the descriptor, and the socket preserves message boundaries (SOCK_SEQPACKET). If the
// receiver dies, connections that it has not taken stay queued for its successor, as long as the
// parent keeps the pair open.
#pragma once

#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// The two ends of the socket pair; both are non-blocking.
struct PassedConnections {
  Fd passing;
  Fd taking;

  /// Errors: kIo.
  static Result<PassedConnections> make();
};

/// CONNECTION stays the caller's, which closes it afterwards. False: the queue is full, or the
/// receiver is gone.
bool pass_connection(int passing, int connection);
/// The next queued connection, close-on-exec; empty if there is none.
Fd take_connection(int taking);

}  // namespace quarry::base
