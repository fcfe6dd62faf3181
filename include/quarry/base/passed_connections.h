// Passes connections from one process to another. Their descriptors are sent (SCM_RIGHTS) over a
// socket pair that both processes inherit from their parent, so no other process can pass
// connections.
//
// The sender must not read from a connection before it passes it, because the data would be lost.
// Each message is one byte and the descriptor, and the socket preserves message boundaries
// (SOCK_SEQPACKET). If the receiver dies, connections that it has not taken stay queued for its
// successor, as long as the parent keeps the pair open.
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

/// Passes CONNECTION over the socket PASSING. The caller keeps its own descriptor and has to close
/// it afterwards. Returns false if the queue is full or the receiver has ended.
bool pass_connection(int passing, int connection);
/// Returns the next queued connection, which is close-on-exec; empty if the queue is empty.
Fd take_connection(int taking);

}  // namespace quarry::base
