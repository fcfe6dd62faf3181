#include "derivation.h"

#include <algorithm>

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

void Derivation::arrived(Rid rid, StructuralType type) {
  switch (type) {
    case StructuralType::kCluster:
      clusters_.push_back(rid);
      return;
    case StructuralType::kCheckIn:
    case StructuralType::kControl: {
      const Manifest artifact = c_.manifests.get(rid);
      if (!artifact || !artifact->date) return;
      auto& queue = type == StructuralType::kCheckIn ? check_ins_ : controls_;
      queue.insert(Dated{base::julian_day(*artifact->date), rid});
      return;
    }
    default:
      return;
  }
}

void Derivation::run() {
  for (const Rid rid : clusters_) {
    if (const Manifest cluster = c_.manifests.get(rid)) apply_cluster(rid, *cluster);
  }
  clusters_.clear();

  // Parents before children, so that what children inherit is written once.
  while (!check_ins_.empty()) {
    const auto [day, rid] = *check_ins_.begin();
    check_ins_.erase(check_ins_.begin());
    const Manifest manifest = c_.manifests.get(rid);
    if (!manifest) continue;
    collect_relatives(rid);
    if (!link_check_in(rid, *manifest)) continue;
    make_check_in_event(rid, *manifest);
    apply_tags(rid, *manifest, day);
    if (const Rid parent = primary_parent(rid); parent != 0) {
      inherit_tags(rid, parent);
      new_children_.insert(rid);
    }
    reparent(rid);  // by a tag that came before it
  }
  for (const auto& [day, rid] : controls_) {
    const Manifest control = c_.manifests.get(rid);
    if (!control) continue;
    make_control_event(rid, *control);
    apply_tags(rid, *control, day);
  }
  controls_.clear();

  resolve_cherrypicks();
  for (const Rid rid : stale_mlinks_) compute_mlinks(rid);
  stale_mlinks_.clear();
  resolve_cherrypicks();  // files that the rows above refer to have become known
  for (const Rid rid : stale_events_) refresh_event(rid);
  stale_events_.clear();
  adjust_times();
  for (const Rid rid : stale_leaves_) refresh_leaf(rid);
  stale_leaves_.clear();
  for (const Rid rid : new_children_) outgrow_parents(rid);
  new_children_.clear();
}

void Derivation::forget_pending() {
  hidden_.clear();
  clusters_.clear();
  check_ins_.clear();
  controls_.clear();
  stale_mlinks_.clear();
  stale_events_.clear();
  stale_leaves_.clear();
  new_children_.clear();
  stale_times_.clear();
}

void clear_derived(Database& database) {
  database.execute(
      "DELETE FROM mlink; DELETE FROM plink; DELETE FROM leaf; DELETE FROM event;"
      "DELETE FROM filename; DELETE FROM tagxref; DELETE FROM tag WHERE tagid>11;"
      "DELETE FROM cherrypick; DELETE FROM backlink; DELETE FROM orphan; DELETE FROM phantom;"
      "DELETE FROM unclustered;"
      "INSERT INTO unclustered SELECT rid FROM blob"
      " WHERE rid NOT IN (SELECT rid FROM private) AND uuid NOT IN (SELECT uuid FROM shun);"
      "INSERT INTO phantom SELECT rid FROM blob"
      " WHERE size<0 AND uuid NOT IN (SELECT uuid FROM shun)");
}

}  // namespace quarry::repository
