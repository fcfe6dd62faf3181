// A cluster lists other artifacts, which a sync session then need not announce one by one: they are
// removed from `unclustered`. The cluster itself gets the tag `cluster`.
//
// Called for new clusters, before any other part. Marks nothing.
#pragma once

#include "derived/common/work.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

class Clusters {
 public:
  /// Arguments are not owned.
  Clusters(Work& work, Tags& tags) : work_(work), tags_(tags) {}

  /// Adds CLUSTER, which is RID. Throws SqliteError.
  void apply_cluster(Rid rid, const artifact::Structural& cluster);

 private:
  Work& work_;
  Tags& tags_;
};

}  // namespace quarry::repository
