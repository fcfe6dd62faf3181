// Documents with several versions (wiki pages, technotes, forum posts). Each version is an artifact
// that refers to the previous version (P card). This class writes the rows of `plink`, and the tags
// that are inherited along these links.
//
// The class is called for new versions. If a version refers to a check-in, the class marks the
// check-in, because the check-in might no longer be a leaf.
#pragma once

#include "derived/checkins/checkin_links.h"
#include "derived/common/work.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

class DocumentLinks {
 public:
  /// Arguments are not owned.
  DocumentLinks(Work& work, CheckinLinks& checkin_links, Tags& tags)
      : work_(work), checkin_links_(checkin_links), tags_(tags) {}

  // Both functions throw SqliteError.

  /// Links LATER, whose row id is RID, with the previous version.
  void link_versions(Rid rid, const artifact::Structural& later);
  /// Returns whether fossil finds the version before LATER. Fossil ignores upper-case hashes and
  /// shunned artifacts.
  bool has_prior(const artifact::Structural& later);

 private:
  Work& work_;
  CheckinLinks& checkin_links_;
  Tags& tags_;
};

}  // namespace quarry::repository
