// Passes the state of one master to the next master, which runs in the same process: the listening
// sockets, the boards with their counters, and the children with their output pipes.
//
// The new master keeps using a service's board. So children of both generations use the same board,
// and counters do not decrease. The previous master passes on the slots of its generation and the
// service's figures, because the board itself is not trusted. A new board is created if:
//
//   the layout has changed            in a new version of the program; counters start at zero
//   the board has too few slots       because pm.max_children was raised; counters are kept
//   the service's user has changed    because the old user's children must not write to the new
//                                     board; counters are kept
//
// In these cases, the previous generation is counted, but the state of its children is not shown.
//
// The handover does not own its descriptors: see take_back().
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
/// Adds the board, the kept memories and the children of SERVICE to HANDOVER. GENERATION is the current
/// generation.
void hand_over(const Children& service, std::uint64_t generation, Handover& handover);

/// Executes PROGRAM with ARGUMENTS and passes HANDOVER to it. Returns only on failure, and then has
/// not changed anything. Errors: kIo, kLimit.
Error execute_again(const std::filesystem::path& program, std::vector<std::string> arguments,
                    const Handover& handover);

/// Gives SERVICE a board, either one from INHERITED or a new one. Errors: kIo, kLimit.
Result<void> set_up_board(Children& service, std::vector<InheritedBoard>& inherited,
                          PreviousGeneration& previous);

}  // namespace quarry::master
