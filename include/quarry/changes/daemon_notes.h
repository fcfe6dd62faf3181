// Notes that the daemons of a queue leave for workers and for the commands of its owner.
//
//   BASE/ctrl/rules     rules of the pool: retry_delay in milliseconds, max_rollback, and the move
//                       types in needs_approval, separated by spaces
//   BASE/ctrl/stopped   exists while the execution daemon does not execute anything: the reason
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Records the rules that noted_rules() returns. Passes on errors from file operations.
base::Result<void> note_rules(const Directories& directories, const Rules& rules);
/// Returns the recorded rules. Rules that are not recorded have their default values.
Rules noted_rules(const Directories& directories);

/// Records that the queue has stopped for REASON; if REASON is empty, that it has not. Passes on
/// errors from file operations.
base::Result<void> note_stop(const Directories& directories, std::string_view reason);
/// Returns the recorded reason, or an empty string if the queue has not stopped.
std::string stop_reason(const Directories& directories);

}  // namespace quarry::changes
