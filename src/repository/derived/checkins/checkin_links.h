// Who descends from whom: `plink` and `cherrypick`, and `orphan` for check-ins that wait for a
// baseline. Cherry-picks whose target is unknown wait in `fx_quarry_cherrypick`.
//
// Told when a check-in comes, and when anything else comes that a check-in names for its parent.
// Marks the files and times of everybody who is compared with what came; check-ins that have waited
// for it wait for their turn again.
#pragma once

#include <string_view>
#include <vector>

#include "derived/common/work.h"

namespace quarry::repository {

class CheckinLinks {
 public:
  /// None is owned.
  explicit CheckinLinks(Work& work) : work_(work) {}

  // All throw SqliteError.

  /// Marks everything that has to be made anew because the check-in RID is there now.
  void collect_relatives(Rid rid);
  /// Marks those that are compared with RID, which is there now, whatever it is.
  void collect_children(Rid rid);
  /// Writes the rows of a check-in. False where it has to wait for its baseline.
  bool link_check_in(Rid rid, const artifact::Structural& manifest);
  /// PARENTS, hash names, become the parents of RID, which MANIFEST is; the primary one first.
  void link_parents(Rid rid, const artifact::Structural& manifest,
                    const std::vector<std::string_view>& parents);
  /// Cherry-picks whose target was unknown and now has a row get theirs. Marks.
  void resolve_cherrypicks();

 private:
  void link_cherrypicks(Rid rid, const artifact::Structural& manifest);

  Work& work_;
};

}  // namespace quarry::repository
