// Notes that the daemons of a queue leave for workers and for the commands of its owner.
//
//   BASE/ctrl/rules     rules of the pool: retry_delay in milliseconds, max_rollback, and the move
//                       types in needs_approval, separated by spaces
#pragma once

#include "quarry/base/result.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Records the rules that noted_rules() returns. Passes on errors from file operations.
base::Result<void> note_rules(const Directories& directories, const Rules& rules);
/// Returns the recorded rules. Rules that are not recorded have their default values.
Rules noted_rules(const Directories& directories);

}  // namespace quarry::changes
