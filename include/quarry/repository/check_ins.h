// Finds check-ins by branch, by name or by tag.
//
// Ignores private and shunned artifacts, and artifacts for which Repository::is_waiting() is true.
// Use these functions inside a Snapshot or a Receipt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Repository;

struct BranchTip {
  artifact::HashName name;
  base::UnixMillis time;        // as displayed
  std::size_t open_leaves = 1;  // more than one if the branch has forked
};

/// A receipt (rcvfrom.rcvid) after all others.
inline constexpr std::int64_t kLatestReceipt = std::numeric_limits<std::int64_t>::max();

/// Maps the old names of renamed files to their new names.
using Renames = std::map<std::string, std::string, std::less<>>;
/// Returns the renames that result from EARLIER and then LATER.
Renames joined(Renames earlier, Renames later);

class CheckIns {
 public:
  /// REPOSITORY is not owned.
  explicit CheckIns(Repository& repository) : repository_(repository) {}

  // Every function can also return kIo.

  /// Returns the tip of BRANCH. Errors: kNotFound (no such branch), kConflict (the branch is
  /// closed).
  Result<BranchTip> tip(std::string_view branch);
  /// Checks that BRANCH exists. It can be closed. Error: kNotFound.
  Result<void> require_branch(std::string_view branch);
  /// Returns the tip that BRANCH had when RECEIPT was the last receipt. Follows first parents from
  /// the current tip to the first check-in that did not arrive in a later receipt. Errors: the same
  /// as for tip(), and kNotFound if the check-in does not exist.
  Result<artifact::HashName> tip_at(std::string_view branch, std::int64_t receipt);
  /// Returns the check-in NAME, which is a hash, an unambiguous prefix of at least 6 digits, a
  /// branch or a tag. If NAME is an open branch, returns the tip that it had at RECEIPT (see
  /// tip_at()). If NAME is a closed branch or another tag, returns the latest check-in with the
  /// tag, and ignores check-ins that arrived in later receipts. Errors: kNotFound, kInvalid
  /// (ambiguous prefix).
  Result<artifact::HashName> named(std::string_view name, std::int64_t receipt = kLatestReceipt);
  /// Returns check-ins whose own manifest has a T card with TAG, latest first. Control artifacts
  /// that change the tag later have no effect on the result. Includes only check-ins that were
  /// pushed by the user BY (a login) or by an administrator, because any user can put any tag into
  /// a pushed check-in. Examines at most LIMIT check-ins.
  Result<std::vector<artifact::HashName>> with_tag(std::string_view tag, std::string_view by,
                                                   std::size_t limit = 100);
  /// Returns whether FROM is TO or an ancestor of TO. Also follows merges. Examines at most LIMIT
  /// check-ins in each direction, so the result can be false for a distant ancestor.
  Result<bool> is_ancestor(const artifact::HashName& from, const artifact::HashName& to,
                           std::size_t limit = 100'000);
  /// Returns the renames between the check-in FROM and its descendant TO. Follows primary parents.
  /// Returns an empty map if FROM is not among the LIMIT check-ins before TO.
  Result<Renames> renames(const artifact::HashName& from, const artifact::HashName& to,
                          std::size_t limit = 10'000);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
