// Finds check-ins: the tip of a branch, a check-in by name, check-ins with a tag.
//
// Private and shunned artifacts are ignored, and so are those for which Repository::is_waiting() is
// true. Use these functions inside a Snapshot or a Receipt.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Repository;

struct BranchTip {
  artifact::HashName name;      // for Receipt::require_tip()
  base::UnixMillis time;        // as displayed
  std::size_t open_leaves = 1;  // more than one if the branch has forked
};

class CheckIns {
 public:
  /// REPOSITORY is not owned.
  explicit CheckIns(Repository& repository) : repository_(repository) {}

  // All functions may return kIo.

  /// The tip of BRANCH. Errors: kNotFound (no such branch), kConflict (the branch is closed).
  base::Result<BranchTip> tip(std::string_view branch);
  /// The check-in NAME, which is a hash, an unambiguous prefix of at least 6 digits, or a tag. A
  /// tag stands for the last check-in that has it; the name of a branch stands for its newest
  /// check-in. Errors: kNotFound, kInvalid (ambiguous prefix).
  base::Result<artifact::HashName> named(std::string_view name);
  /// Check-ins whose own manifest has a T card with TAG, latest first, even if control artifacts
  /// have changed the tag. Only check-ins that were pushed by the user BY (a login) or by an
  /// administrator count, because any user can put any tag into a pushed check-in. Examines at most
  /// LIMIT check-ins.
  base::Result<std::vector<artifact::HashName>> with_tag(std::string_view tag, std::string_view by,
                                                         std::size_t limit = 100);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
