// A cluster names other artifacts; what it names need not be told one by one any more.

#include "derivation.h"

namespace quarry::repository {

void Derivation::apply_cluster(Rid rid, const artifact::Structural& cluster) {
  // A cluster has no date of its own: fossil stamps the tag with the time of processing.
  set_tag(kTagCluster, 1, std::nullopt, rid, base::julian_day(c_.clock.now()), rid);
  for (const std::string_view member : cluster.members) {
    const Rid member_rid = c_.names.need(member);
    c_.database.query("DELETE FROM unclustered WHERE rid=?1").bind(1, member_rid).run();
  }
}

}  // namespace quarry::repository
