// Frozen branches. Change sets for a frozen branch wait until the branch is thawed.
//
//   BASE/ctrl/frozen   one branch per line, read by the queueing daemon
//
// The file is replaced as a whole, under the lock of ctrl/frozen.lock.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/directories.h"

namespace quarry::changes {

using Branches = std::set<std::string, std::less<>>;

/// Returns whether NAME is a valid name of a branch.
bool is_branch_name(std::string_view name);

/// Returns the frozen branches. Passes on errors from file operations.
Result<Branches> frozen_branches(const Directories& directories);
/// Freezes or thaws BRANCH. Errors: kConflict (already frozen, or not frozen), kInvalid (not a
/// valid name of a branch), kLimit (too many frozen branches), kBusy, errors from file operations.
Result<void> set_frozen(Directories& directories, std::string_view branch, bool is_frozen);

}  // namespace quarry::changes
