// What goes from one master to the next, beside the listening sockets: the boards with what was
// counted, and the children with what they print.
//
// The new master goes on with a service's board, so that children of both generations stand on it
// and no figure goes backwards. Which slots the elders have it is told by the one before it, and so
// are the service's figures: nothing of them is read from the board. It is not gone on with
//
//   where its layout is another    the program is a newer one: the service counts anew
//   where its slots do not suffice pm.max_children was raised: what was counted is kept
//   where the service's user       the elders' one must not write where the new one does: the same
//   changed
//
// and the elders are then counted, but not seen.
//
// Descriptors are lent to the handover: take_back().
#pragma once

#include <cstdint>
#include <vector>

#include "pool/children.h"
#include "previous_generation.h"
#include "quarry/base/result.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// Lends HANDOVER the listening socket LISTENER, if there is one.
void hand_over(const Listener& listener, Handover& handover);
/// Lends HANDOVER the board and the children of SERVICE, whose master is of GENERATION.
void hand_over(const Children& service, std::uint64_t generation, Handover& handover);

/// Puts SERVICE on the board that the master before left among INHERITED, or on a new one. Errors:
/// kIo, kLimit.
base::Result<void> set_up_board(Children& service, std::vector<InheritedBoard>& inherited,
                                PreviousGeneration& previous);

}  // namespace quarry::master
