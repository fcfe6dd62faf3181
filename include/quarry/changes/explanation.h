// Explanations for users: why a change set is waiting, and which change sets a rollback affects.
// Each function builds the model from the jobs. A caller needs read access to the folders; no
// daemon has to run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/queue_view.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Maximum number of job files that a function reads.
inline constexpr std::size_t kMaxExplained = 50'000;

/// The sentence that why_waits() returns for a change set that is next.
inline constexpr std::string_view kNothingBlocks = "nothing blocks it: it is ready";
/// The beginning of the sentence that why_waits() returns for a running or finished change set.
inline constexpr std::string_view kNotWaiting = "it is not waiting";

/// Returns a sentence that says what the change set ID waits for. RULES are the rules of the queue.
/// Errors: kNotFound, kLimit, errors from file operations.
Result<std::string> why_waits(const Directories& directories, const Rules& rules,
                              const ChangeSetId& id, base::UnixMillis now);

/// Sets the remark of each waiting job in VIEW, a view of DIRECTORIES, to the reason why it waits.
/// Removes the expected time of the jobs that Model::stopped() returns and, if the queue has
/// stopped or its disk is full, of all waiting jobs. Subtracts the stopped jobs from the expected
/// times of the jobs behind them. RULES and FROZEN are the rules and the frozen
/// branches of the queue. If too many jobs would have to be read, no job has an expected time or a
/// new remark. Errors: errors from file operations.
Result<void> explain(QueueView& view, const Directories& directories, const Rules& rules,
                     Branches frozen, base::UnixMillis now);

/// Returns the change sets that a rollback of IDS rolls back or removes from the queue, in order of
/// landing. Errors: kLimit (too many job files), errors from Model::closure() and file
/// operations.
Result<std::vector<JobLocation>> rollback_closure(const Directories& directories,
                                                  const std::vector<ChangeSetId>& ids,
                                                  std::size_t limit);

}  // namespace quarry::changes
