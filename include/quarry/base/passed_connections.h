// Passes connections from one process to another. Descriptors are sent (SCM_RIGHTS) over a socket
// pair that both processes inherit from their parent, so other processes cannot pass connections.
//
// The sender must not read from a connection before passing it, because the receiver would not get
// the data that was read. Each message is one byte and the descriptor; the socket preserves message
// boundaries (SOCK_SEQPACKET). If the receiver exits, the remaining connections stay queued for its
// successor, because the parent keeps the pair open.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// The two ends of the socket pair, which are non-blocking.
struct PassedConnections {
  Fd passing;
  Fd taking;

  /// Creates the socket pair. Errors: kIo.
  static Result<PassedConnections> make();
};

/// Passes CONNECTION over the socket PASSING. The caller keeps its own descriptor and has to close
/// it afterwards. Returns false if the queue is full or the receiver has exited.
bool pass_connection(int passing, int connection);
/// Returns the next queued connection, or an empty Fd if the queue is empty. The connection is
/// close-on-exec.
Fd take_connection(int taking);

}  // namespace quarry::base
