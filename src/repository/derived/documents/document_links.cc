#include "document_links.h"

namespace quarry::repository {

using artifact::Structural;

void DocumentLinks::link_versions(Rid rid, const Structural& later) {
  checkin_links_.link_parents(rid, later, later.parents);
  work_.pending.new_children.insert(rid);
  if (const Rid parent = work_.lineage.primary_parent(rid); parent != 0)
    tags_.inherit_tags(rid, parent);
}

bool DocumentLinks::has_prior(const Structural& later) {
  return !later.parents.empty() && work_.names.find_as_written(later.parents.front()) != 0;
}

}  // namespace quarry::repository
