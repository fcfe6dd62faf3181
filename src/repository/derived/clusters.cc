#include "clusters.h"

namespace quarry::repository {

void Clusters::apply_cluster(Rid rid, const artifact::Structural& cluster) {
  // A cluster has no date: fossil uses the time of processing for the tag.
  tags_.set_tag(kTagCluster, 1, std::nullopt, rid, base::julian_day(work_.clock.now()), rid);
  for (const std::string_view member : cluster.members) {
    const Rid member_rid = work_.names.need(member);
    work_.database.execute("DELETE FROM unclustered WHERE rid=?1", member_rid);
  }
}

}  // namespace quarry::repository
