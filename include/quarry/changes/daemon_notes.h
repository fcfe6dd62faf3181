// Notes that the daemons of a queue leave for workers and for the commands of its owner.
//
//   BASE/ctrl/rules     rules of the pool: retry_delay in milliseconds, max_rollback, and the move
//                       types in needs_approval, separated by spaces
//   BASE/ctrl/stopped   the reason why the execution daemon has stopped executing jobs; exists
//                       only while it is stopped
//   BASE/ctrl/raised    the waiting jobs that overtake other jobs because a more urgent job depends
//                       on them; in order, one per line: the job's id, a space, and the name of
//                       the urgent job. The queueing daemon writes this file for lists of the
//                       queue and for the execution daemon, which does not read queue/ and staging/
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/model.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Records the rules that noted_rules() returns. Passes on errors from file operations.
Result<void> note_rules(const Directories& directories, const Rules& rules);
/// Returns the recorded rules. Rules that are not recorded have their default values.
Rules noted_rules(const Directories& directories);

/// Records REASON as the reason why the queue has stopped. If REASON is empty, records that the
/// queue is not stopped. Passes on errors from file operations.
Result<void> note_stop(const Directories& directories, std::string_view reason);
/// Returns the recorded reason, or an empty string if the queue has not stopped.
std::string stop_reason(const Directories& directories);

/// Maximum number of jobs in ctrl/raised.
inline constexpr std::size_t kMaxRaised = 200;
/// Replaces the list in ctrl/raised. Passes on errors from file operations.
Result<void> note_raised(const Directories& directories, const std::vector<RaisedJob>& jobs);
/// Returns the list in ctrl/raised. The list is empty if the file does not exist.
std::vector<RaisedJob> noted_raised(const Directories& directories);

}  // namespace quarry::changes
