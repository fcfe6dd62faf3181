// Notes that the daemons of a queue leave for workers and for the commands of its owner.
//
//   BASE/ctrl/rules     rules of the pool: retry_delay in milliseconds, max_rollback, and the move
//                       types in needs_approval, separated by spaces
//   BASE/ctrl/stopped   the reason why the execution daemon has stopped executing jobs; exists
//                       only while it is stopped
//   BASE/ctrl/urgent    names of jobs in queue/ and staging/, one per line. The jobs in pending/ on
//                       which they depend go before less urgent jobs. Written by the queueing
//                       daemon for the execution daemon, which does not list queue/ and
//                       staging/
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

/// Records REASON as the reason why the queue has stopped. If REASON is empty, records that the
/// queue is not stopped. Passes on errors from file operations.
base::Result<void> note_stop(const Directories& directories, std::string_view reason);
/// Returns the recorded reason, or an empty string if the queue has not stopped.
std::string stop_reason(const Directories& directories);

/// Replaces the list in ctrl/urgent. Passes on errors from file operations.
base::Result<void> note_urgent(const Directories& directories, std::string_view names);
/// Returns the list in ctrl/urgent, or an empty string if it does not exist.
std::string noted_urgent(const Directories& directories);

}  // namespace quarry::changes
