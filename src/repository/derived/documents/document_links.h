// Documents of several versions (wiki pages, technotes, forum posts): each version is an artifact
// that names the one before it (P card). Rows of `plink`, and the tags that are inherited along
// them.
//
// Told when a version comes. Marks a check-in that it names, which may be a leaf no longer.
#pragma once

#include "derived/checkins/checkin_links.h"
#include "derived/common/work.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

class DocumentLinks {
 public:
  /// None is owned.
  DocumentLinks(Work& work, CheckinLinks& checkin_links, Tags& tags)
      : work_(work), checkin_links_(checkin_links), tags_(tags) {}

  // Both throw SqliteError.

  /// LATER, which is RID, is linked with the version before it.
  void link_versions(Rid rid, const artifact::Structural& later);
  /// Whether fossil finds the version before LATER: not by a name in capital letters, nor what is
  /// shunned.
  bool has_prior(const artifact::Structural& later);

 private:
  Work& work_;
  CheckinLinks& checkin_links_;
  Tags& tags_;
};

}  // namespace quarry::repository
