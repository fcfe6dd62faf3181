#include "artifact_order.h"

#include <map>

#include "quarry/base/time.h"

namespace quarry::repository {

ArtifactOrder::Position ArtifactOrder::position(Rid rid) {
  const Manifest artifact = manifests_.get(rid);
  const bool has_date = artifact && artifact->date;
  return {has_date ? base::julian_day(*artifact->date) : 0, names_.hash_of(rid)};
}

void ArtifactOrder::sort(std::vector<Rid>& rids) {
  if (rids.size() < 2) return;
  std::map<Rid, std::size_t> missing;  // number of parents that are not sorted yet
  for (const Rid rid : rids) missing[rid] = 0;
  std::map<Rid, std::vector<Rid>> children;
  for (const Rid rid : rids) {
    for (const Rid parent : lineage_.parents(rid)) {
      if (!missing.contains(parent)) continue;
      children[parent].push_back(rid);
      ++missing[rid];
    }
  }
  std::map<Position, Rid> ready;
  for (const auto& [rid, count] : missing) {
    if (count == 0) ready.emplace(position(rid), rid);
  }
  rids.clear();
  while (!ready.empty()) {
    const Rid rid = ready.extract(ready.begin()).mapped();
    rids.push_back(rid);
    for (const Rid child : children[rid]) {
      if (--missing[child] == 0) ready.emplace(position(child), child);
    }
  }
}

}  // namespace quarry::repository
