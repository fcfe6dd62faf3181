// Connections that one process passes on to another: their descriptors over a pair of sockets
// (SCM_RIGHTS) that both have from their parent, so that nobody else can pass one on.
//
// Nothing was read of what is passed on, or it would be lost. A message is one byte and the
// descriptor; messages never run together (SOCK_SEQPACKET). What was passed on and not yet taken
// stays when the taker dies, for its successor, as long as the parent has the pair.
#pragma once

#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::base {

/// To pass on into, and to take from; neither blocks. Errors: kIo.
struct PassedConnections {
  Fd passing;
  Fd taking;

  static Result<PassedConnections> make();
};

/// CONNECTION stays the caller's, who then closes it. False: whoever takes them is behind, or gone.
bool pass_connection(int passing, int connection);
/// The next one that was passed on, close-on-exec; none: there is none for now.
Fd take_connection(int taking);

}  // namespace quarry::base
