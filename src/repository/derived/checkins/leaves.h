// A leaf is a check-in without a child on its own branch (`leaf`). Only those count whose branch is
// known, and their parents: a history without any branch tag has no leaves (as in fossil).
//
// Computed for what is marked, when all tags and links are known. Marks nothing.
#pragma once

#include "derived/common/work.h"

namespace quarry::repository {

class Leaves {
 public:
  /// None is owned.
  explicit Leaves(Work& work) : work_(work) {}

  // Both throw SqliteError.

  /// The branch of RID has changed: looks at it and at its parents.
  void refresh_leaf(Rid rid);
  /// The new check-in RID may be why a parent is a leaf no longer.
  void outgrow_parents(Rid rid);

 private:
  bool has_child_on_its_branch(Rid rid);
  bool names_branch_of_parents(Rid rid);
  bool is_looked_at_for_leaves(Rid rid, Rid changed);

  Work& work_;
};

}  // namespace quarry::repository
