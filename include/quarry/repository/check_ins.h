// Finds check-ins: the tip of a branch, a check-in by name, check-ins with a tag.
//
// Ignores private and shunned artifacts and those of Repository::is_waiting(). Use inside a
// Snapshot or a Receipt.
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

  // Errors of all: kIo.

  /// Errors: kNotFound (no such branch), kConflict (the branch is closed).
  base::Result<BranchTip> tip(std::string_view branch);
  /// The check-in NAME, which is a hash, an unambiguous prefix of at least 6 digits, or a tag. A
  /// tag means the last check-in that has it, for a branch its newest check-in. Errors: kNotFound,
  /// kInvalid (ambiguous prefix).
  base::Result<artifact::HashName> named(std::string_view name);
  /// Check-ins whose own manifest has a T card with TAG, latest first, whatever control artifacts
  /// do to the tag. They must have been pushed by the user BY (a login) or an administrator,
  /// because other users can write any tag into what they push. Examines at most LIMIT check-ins.
  base::Result<std::vector<artifact::HashName>> with_tag(std::string_view tag, std::string_view by,
                                                         std::size_t limit = 100);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
