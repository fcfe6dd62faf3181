// Explanations for users: why a change set is waiting, and what else a rollback would roll back.
// Each question builds the model from the job files, so it needs read access to the folders but no
// daemon.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Limit on the number of job files that are read to answer a question.
inline constexpr std::size_t kMaxExplained = 50'000;

/// A sentence that says what the change set ID waits for; empty if it is not waiting. RULES say
/// which move types need an approval. Errors: kNotFound, kLimit, those of file operations.
base::Result<std::string> why_waits(const Directories& directories, const Rules& rules,
                                    const ChangeSetId& id, base::UnixMillis now);

/// The change sets that a rollback of IDS would roll back or remove from the queue, in order of
/// landing. Errors: kNotFound, kLimit (more than LIMIT, or too many job files), those of file
/// operations.
base::Result<std::vector<JobLocation>> rollback_closure(const Directories& directories,
                                                        const std::vector<ChangeSetId>& ids,
                                                        std::size_t limit);

}  // namespace quarry::changes
