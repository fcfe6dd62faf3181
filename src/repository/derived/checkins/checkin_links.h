// Parents and children: `plink` and `cherrypick`, and `orphan` for check-ins that wait for a
// baseline. Cherry-picks whose target is unknown are kept in `fx_quarry_cherrypick`.
//
// The derivation calls this class for new check-ins, and for other new artifacts that are parents
// of check-ins. If check-ins are compared with the new artifact, the class marks their files and
// times for recomputation. Check-ins that were waiting for the new artifact become pending again.
#pragma once

#include <string_view>
#include <vector>

#include "derived/common/work.h"

namespace quarry::repository {

class CheckinLinks {
 public:
  /// Arguments are not owned.
  explicit CheckinLinks(Work& work) : work_(work) {}

  // All functions throw SqliteError.

  /// Marks all rows that must be recomputed because the check-in RID has arrived.
  void collect_relatives(Rid rid);
  /// Marks check-ins that are compared with RID, an artifact of any kind that has arrived.
  void collect_children(Rid rid);
  /// Writes the rows of a check-in. Returns false if the check-in has to wait for its baseline.
  bool link_check_in(Rid rid, const artifact::Structural& manifest);
  /// Makes PARENTS the parents of RID, primary first. MANIFEST is the manifest of RID.
  void link_parents(Rid rid, const artifact::Structural& manifest,
                    const std::vector<std::string_view>& parents);
  /// Writes the rows of cherry-picks whose target was unknown but now has a row in `blob`. Marks
  /// rows to recompute.
  void resolve_cherrypicks();

 private:
  void link_cherrypicks(Rid rid, const artifact::Structural& manifest);

  Work& work_;
};

}  // namespace quarry::repository
