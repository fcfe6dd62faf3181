// What a queue's model says of it, for people: why a change set does not go on, and what would go with
// those that one wants to take back. The model is made anew from the job files for each question, so
// that whoever may read the folders may ask, without any daemon.
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

/// Beyond so many job files a question is not answered.
inline constexpr std::size_t kMostExplained = 50'000;

/// A sentence: what the change set of ID waits for; that it waits for nothing. RULES say what needs an
/// approval. Errors: kNotFound, kLimit; those of files.
base::Result<std::string> why_waits(const Directories& directories, const Rules& rules,
                                    const ChangeSetId& id, base::UnixMillis now);

/// What a rollback of IDS takes back or out of the queue, in the order of landing. Errors: kNotFound,
/// kLimit (more than LIMIT, or too many job files); those of files.
base::Result<std::vector<JobLocation>> what_goes_with(const Directories& directories,
                                                      const std::vector<ChangeSetId>& ids,
                                                      std::size_t limit);

}  // namespace quarry::changes
