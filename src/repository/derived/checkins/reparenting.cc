// Check-ins with other parents than their manifest says: what `fossil reparent` does, by a tag
// `parent` whose value names the parents, the primary first.
//
//   plink      the tag's parents
//   mlink      the differences to the tag's primary parent, and to the manifest's merge parents;
//              but filename, and blob for phantoms, hold what a comparison with the manifest's
//              primary parent names, too
//   tagxref    what the tag's primary parent has is inherited, and nothing else (see tags.h)
//
// Fossil's rebuild leaves what was inherited before it sees the tag. Where it sees the tag before the
// check-in, it makes no event for that; here there is always one.

#include "reparenting.h"

#include <algorithm>

namespace quarry::repository {

using artifact::HashName;
using artifact::Structural;
using artifact::StructuralType;

namespace {

/// The names in VALUE, with one space between two; none if it is anything else.
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

}  // namespace

std::vector<HashName> Reparenting::parents_by_tag(Rid rid) {
  if (work_.is_whole) return {};  // it is not where there is such a tag
  const std::optional<TagEntry> entry = work_.tags.get(kTagParent, rid);
  if (!entry || entry->type != kSingleTag || !entry->value) return {};
  return parents_in(*entry->value);
}

/// What a rebuild compares at first, with the parents of the manifest, leaves names behind: perhaps
/// one of those parents has come.
void Reparenting::note_reparented() {
  if (work_.is_whole) return;
  Query query = work_.database.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND tagtype=1");
  query.bind(1, kTagParent);
  while (query.step()) work_.pending.stale_mlinks.insert(query.integer(0));
}

bool Reparenting::reparent(Rid rid) {
  const Manifest manifest = work_.manifests.get(rid);
  if (!manifest || manifest->type != StructuralType::kCheckIn) return false;
  // One that waits for its turn, or for its baseline, is linked then, and again by the tag.
  if (!work_.lineage.is_check_in(rid)) return false;

  std::vector<Rid> concerned = work_.lineage.parents(rid);
  work_.lineage.unlink(rid);
  work_.database.query("DELETE FROM mlink INDEXED BY mlink_i1 WHERE mid=?1").bind(1, rid).run();
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
