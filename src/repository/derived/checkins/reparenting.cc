// Check-ins whose parents are set by a tag (`fossil reparent`). The value of the tag `parent` lists
// the parents, primary first.
//
//   plink      the tag's parents
//   mlink      differences from the tag's primary parent, and from the manifest's merge parents.
//              (filename and blob also contain the names and phantoms from a comparison with the
//              manifest's primary parent.)
//   tagxref    tags are inherited only from the tag's primary parent (see tags.h)
//
// Fossil's rebuild keeps tags that were inherited before it processes the tag `parent`. If fossil
// processes this tag before the check-in, fossil does not create an event for the check-in. This
// module always creates the event.

#include "reparenting.h"

#include <algorithm>

namespace quarry::repository {

using artifact::HashName;
using artifact::StructuralType;

std::vector<HashName> parents_in(std::string_view value) {
  std::vector<HashName> names;
  while (!value.empty()) {
    const std::string_view word = value.substr(0, value.find(' '));
    const auto name = HashName::parse(lower_hash(word));
    if (!name) return {};
    names.push_back(*name);
    value.remove_prefix(std::min(value.size(), word.size() + 1));
  }
  return names;
}

std::vector<HashName> Reparenting::parents_by_tag(Rid rid) {
  if (work_.is_whole) return {};  // is_whole is never set if a tag `parent` exists
  const std::optional<TagEntry> entry = work_.tags.get(kTagParent, rid);
  if (!entry || entry->type != kSingleTag || !entry->value) return {};
  return parents_in(*entry->value);
}

/// Marks the check-ins whose parents are set by a tag, because a parent that is named in one of
/// their manifests might have arrived now. A rebuild first compares these check-ins with the
/// parents in their manifests. This comparison adds file names, and the same names must be added
/// here.
void Reparenting::note_reparented() {
  if (work_.is_whole) return;
  const std::vector<Rid> reparented = work_.database.integers(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND tagtype=1", kTagParent);
  work_.pending.stale_mlinks.insert(reparented.begin(), reparented.end());
}

bool Reparenting::reparent(Rid rid) {
  const Manifest manifest = work_.manifests.get(rid);
  if (!manifest || manifest->type != StructuralType::kCheckIn) return false;
  // If the check-in is pending or is waiting for its baseline, it will be linked later.
  if (!work_.lineage.is_check_in(rid)) return false;

  std::vector<Rid> concerned = work_.lineage.parents(rid);
  work_.lineage.unlink(rid);
  work_.database.execute("DELETE FROM mlink INDEXED BY mlink_i1 WHERE mid=?1", rid);
  const std::vector<HashName> by_tag = parents_by_tag(rid);
  std::vector<std::string_view> names;
  for (const HashName& parent : by_tag) names.push_back(parent.str());
  checkin_links_.link_parents(rid, *manifest, by_tag.empty() ? manifest->parents : names);
  for (const Rid parent : work_.lineage.parents(rid)) concerned.push_back(parent);

  work_.pending.stale_mlinks.insert(rid);
  work_.pending.stale_times.insert(rid);
  work_.pending.stale_times.insert(concerned.begin(), concerned.end());
  concerned.push_back(rid);
  for (const Rid one : concerned) {
    if (work_.tags.get(kTagBranch, one)) work_.pending.stale_leaves.insert(one);
  }
  work_.pending.new_children.insert(rid);
  return true;
}

}  // namespace quarry::repository
