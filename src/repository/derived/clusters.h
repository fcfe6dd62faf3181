// A cluster names other artifacts; what it names need not be told one by one any more: it goes out
// of `unclustered`. The cluster itself has the tag `cluster`.
//
// Told when a cluster comes, before anything else. Marks nothing.
#pragma once

#include "derived/common/work.h"
#include "derived/tags/tags.h"

namespace quarry::repository {

class Clusters {
 public:
  /// None is owned.
  Clusters(Work& work, Tags& tags) : work_(work), tags_(tags) {}

  /// RID is CLUSTER. Throws SqliteError.
  void apply_cluster(Rid rid, const artifact::Structural& cluster);

 private:
  Work& work_;
  Tags& tags_;
};

}  // namespace quarry::repository
