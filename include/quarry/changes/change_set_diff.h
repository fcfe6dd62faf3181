// The unified diff of a change set, for reviewers. The prequeue daemon computes a diff when a user
// requests it, because diffs can be long and most of them are never read:
//
//   1. The worker writes the empty file ctrl/diff.CSID and wakes the daemon.
//   2. The daemon writes the diff to data/NAME.diff, from which the worker reads it.
//
// The file in data/ is a cache, and can be deleted at any time.
#pragma once

#include <span>
#include <string>

#include "quarry/base/result.h"
#include "quarry/changes/job.h"
#include "quarry/changes/landing.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

/// Returns the diff from the previous version to FILES of JOB. If JOB has landed, the previous
/// version is the parent of its check-in. Otherwise, it is the base of JOB or, without a base, the
/// tip of the branch. Truncates the diff to kMaxDiff bytes, including a remark with the number of
/// omitted files. An empty line precedes each remark, so that the remark is not part of a hunk.
/// Errors: kNotFound, kConflict, kInvalid (the base does not exist), kCorrupt, kIo.
Result<std::string> diff_of(repository::Repository& repository, const Job& job,
                            std::span<const ChangedFile> files);

}  // namespace quarry::changes
