// Check-ins whose parents are set by a tag (`fossil reparent`). The value of the tag `parent` lists
// the parents, primary first. This class rewrites rows of `plink`, and removes rows of `mlink`.
//
// The class is called when the tag is set on a check-in, and for a new check-in that might already
// have the tag. The class marks the files, times and leaves of all affected check-ins for
// recomputation.
#pragma once

#include <string_view>
#include <vector>

#include "checkin_links.h"
#include "derived/common/work.h"
#include "quarry/artifact/hash_name.h"

namespace quarry::repository {

/// Returns the parents that a tag with VALUE sets: hashes separated by single spaces. Returns an
/// empty list if VALUE is malformed.
std::vector<artifact::HashName> parents_in(std::string_view value);

class Reparenting {
 public:
  /// Arguments are not owned.
  Reparenting(Work& work, CheckinLinks& checkin_links)
      : work_(work), checkin_links_(checkin_links) {}

  // All functions throw SqliteError.

  /// Returns the parents that a tag sets for the check-in RID, or an empty list if it does not have
  /// such a tag.
  std::vector<artifact::HashName> parents_by_tag(Rid rid);
  /// Links RID with the parents that a tag sets or, without such a tag, with the parents in its
  /// manifest. If RID has to wait, or is not a check-in, returns false and does not change
  /// anything.
  bool reparent(Rid rid);
  /// Marks all check-ins whose parents are set by a tag, because a parent that is named in one of
  /// their manifests might have arrived.
  void note_reparented();

 private:
  Work& work_;
  CheckinLinks& checkin_links_;
};

}  // namespace quarry::repository
