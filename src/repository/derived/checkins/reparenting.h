// Check-ins with other parents than their manifest says: what `fossil reparent` does, by a tag
// `parent` whose value names the parents, the primary first. Writes `plink` again, and takes rows
// out of `mlink`.
//
// Told when the tag is put on a check-in, and when a check-in comes that may have it already. Marks
// the files, times and leaves of everybody concerned.
#pragma once

#include <vector>

#include "checkin_links.h"
#include "derived/common/work.h"
#include "quarry/artifact/hash_name.h"

namespace quarry::repository {

class Reparenting {
 public:
  /// None is owned.
  Reparenting(Work& work, CheckinLinks& checkin_links)
      : work_(work), checkin_links_(checkin_links) {}

  // All throw SqliteError.

  /// The parents that a tag gives the check-in RID in place of those in its manifest; none if no
  /// tag does.
  std::vector<artifact::HashName> parents_by_tag(Rid rid);
  /// Links RID with the parents that a tag gives it, or with those of its manifest if none does.
  /// False where it has to wait, or is no check-in: nothing happens.
  bool reparent(Rid rid);
  /// Marks every check-in that has such a tag: perhaps one of its manifest's parents has come.
  void note_reparented();

 private:
  Work& work_;
  CheckinLinks& checkin_links_;
};

}  // namespace quarry::repository
