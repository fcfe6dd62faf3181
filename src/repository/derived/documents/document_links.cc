#include "document_links.h"

#include <algorithm>
#include <vector>

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

void DocumentLinks::link_versions(Rid rid, const Structural& later) {
  disputes_.note_if_late(rid);
  checkin_links_.link_parents(rid, later, later.parents);
  work_.pending.new_children.insert(rid);
  const std::vector<Rid> parents = work_.lineage.parents(rid);
  if (std::ranges::any_of(parents,
                          [this](Rid parent) { return work_.lineage.is_check_in(parent); })) {
    work_.pending.stale_mlinks.insert(rid);
    work_.pending.stale_times.insert(rid);
  }
  if (const Rid parent = work_.lineage.primary_parent(rid); parent != 0)
    tags_.inherit_tags(rid, parent);
  if (later.type != StructuralType::kForumPost) put_off_.note_put_off(rid);
}

bool DocumentLinks::has_prior(const Structural& later) {
  return !later.parents.empty() && work_.names.find_as_written(later.parents.front()) != 0;
}

}  // namespace quarry::repository
