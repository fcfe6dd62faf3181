// What work on a branch begins with: its tip, the check-in that somebody names, those that carry a
// tag.
//
// What is private, shunned or waits is not there. Inside a Snapshot or a Receipt.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Repository;

/// Where a branch ends.
struct BranchTip {
  artifact::HashName name;      // what Receipt::require_tip() goes by
  base::UnixMillis time;        // as it is shown
  std::size_t open_leaves = 1;  // more than one: the branch has forked
};

class CheckIns {
 public:
  /// REPOSITORY is not owned.
  explicit CheckIns(Repository& repository) : repository_(repository) {}

  // Errors of all: kIo.

  /// Errors: kNotFound (there is no such branch), kConflict (it is closed).
  base::Result<BranchTip> tip(std::string_view branch);
  /// The check-in that people call NAME: by its hash, by enough of the first digits of that (at
  /// least 6), or by a tag: the last one that has it, which for a branch is its newest check-in.
  /// Errors: kNotFound; kInvalid (the digits are those of several).
  base::Result<artifact::HashName> named(std::string_view name);
  /// Those whose own manifest has a T card that puts TAG on them, the last first, whatever control
  /// artifacts say of that tag, and that were brought here by the user BY (a login) or by one who may
  /// administer: anybody else may write any tag into what he pushes. No more than LIMIT are looked
  /// at.
  base::Result<std::vector<artifact::HashName>> with_tag(std::string_view tag, std::string_view by,
                                                         std::size_t limit = 100);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
