// Leaves (`leaf`): check-ins without a child on their own branch. As in fossil, only check-ins with
// a branch tag and their parents are checked, so a history without branch tags does not have
// leaves.
//
// The derivation calls this class for marked check-ins, after all tags and links have been written.
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
