// A leaf is a check-in without a child on its own branch (`leaf`). As in fossil, only check-ins
// with a known branch and their parents count, so a history without branch tags does not have
// leaves.
//
// Computed for marked check-ins when all tags and links are known. Does not mark any rows.
#pragma once

#include "derived/common/work.h"

namespace quarry::repository {

class Leaves {
 public:
  /// Arguments are not owned.
  explicit Leaves(Work& work) : work_(work) {}

  // Both functions throw SqliteError.

  /// Recomputes whether RID, whose branch has changed, and its parents are leaves.
  void refresh_leaf(Rid rid);
  /// Recomputes whether the parents of the new check-in RID are still leaves.
  void outgrow_parents(Rid rid);

 private:
  bool has_child_on_its_branch(Rid rid);
  bool names_branch_of_parents(Rid rid);
  bool is_leaf_candidate(Rid rid, Rid changed);

  Work& work_;
};

}  // namespace quarry::repository
