// Documents of several versions (wiki pages, technotes, forum posts): each version is an artifact
// that names the one before it (P card). Rows of `plink`, and the tags that are inherited along
// them.
//
// Told when a version comes. Marks it as late where later versions are there already, and for a
// comparison of files where the version before is a check-in.
#pragma once

#include "derived/checkins/checkin_links.h"
#include "derived/common/put_off.h"
#include "derived/common/work.h"
#include "derived/tags/tag_disputes.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

class DocumentLinks {
 public:
  /// None is owned.
  DocumentLinks(Work& work, CheckinLinks& checkin_links, PutOff& put_off, TagDisputes& disputes,
                Tags& tags)
      : work_(work),
        checkin_links_(checkin_links),
        put_off_(put_off),
        disputes_(disputes),
        tags_(tags) {}

  // Both throw SqliteError.

  /// LATER, which is RID, is linked with the version before it.
  void link_versions(Rid rid, const artifact::Structural& later);
  /// Whether fossil finds the version before LATER: not by a name in capital letters, nor what is
  /// shunned.
  bool has_prior(const artifact::Structural& later);

 private:
  Work& work_;
  CheckinLinks& checkin_links_;
  PutOff& put_off_;
  TagDisputes& disputes_;
  Tags& tags_;
};

}  // namespace quarry::repository
