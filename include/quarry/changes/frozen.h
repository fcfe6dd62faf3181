// Branches that are frozen: what is for them waits until they are thawed.
//
//   BASE/ctrl/frozen   a branch a line; the queueing daemon reads it
//
// Who changes the file holds the lock of ctrl/frozen.lock, and puts a new one in its place.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/directories.h"

namespace quarry::changes {

using Branches = std::set<std::string, std::less<>>;

/// Whether NAME can be that of a branch.
bool is_branch_name(std::string_view name);

/// Errors: those of files.
base::Result<Branches> frozen_branches(const Directories& directories);
/// BRANCH is frozen from now on, or is not. Errors: kConflict (it is so already), kInvalid (that is
/// no name of a branch), kLimit (too many), kBusy; those of files.
base::Result<void> set_frozen(Directories& directories, std::string_view branch, bool is_frozen);

}  // namespace quarry::changes
