// Passes the listening sockets, the boards with their counters, and the children with their output
// pipes from one master to the next, which executes the program again in the same process.
//
// The new master keeps using a service's board, so that children of both generations are on it and
// counters do not decrease. The slots of the previous generation and the service's figures are
// passed on by the previous master; the board itself is not trusted. A new board is created if:
//
//   its layout has changed            the program has a new version: counters start at zero
//   it does not have enough slots     pm.max_children was raised: counters are kept
//   the service's user has changed    the old user's children must not write to the new board:
//                                     counters are kept
//
// In these cases, the previous generation is counted, but the state of its children is not shown.
//
// The handover borrows the descriptors: see take_back().
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pool/children.h"
#include "previous_generation.h"
#include "quarry/base/result.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// Adds the listening socket of LISTENER, if any, to HANDOVER.
void hand_over(const Listener& listener, Handover& handover);
/// Adds the board and the children of SERVICE to HANDOVER. GENERATION is the current one.
void hand_over(const Children& service, std::uint64_t generation, Handover& handover);

/// Executes PROGRAM with ARGUMENTS and passes HANDOVER to it. Returns only on failure, and then
/// nothing has changed. Errors: kIo, kLimit.
base::Error execute_again(const std::filesystem::path& program, std::vector<std::string> arguments,
                          const Handover& handover);

/// Gives SERVICE its board from INHERITED, or creates one. Errors: kIo, kLimit.
base::Result<void> set_up_board(Children& service, std::vector<InheritedBoard>& inherited,
                                PreviousGeneration& previous);

}  // namespace quarry::master
