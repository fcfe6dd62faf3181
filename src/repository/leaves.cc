// A leaf is a check-in without a child on its own branch. Only those count whose branch is known,
// and their parents: a history without any branch tag has no leaves (as in fossil).

#include <algorithm>

#include "derivation.h"

namespace quarry::repository {

namespace {

bool has_child_on_its_branch(Database& database, Rid rid) {
  Query child = database.query(
      "SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1"
      " AND coalesce((SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE "
      "tagid=8 AND rid=plink.pid),'trunk')"
      "  == coalesce((SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE "
      "tagid=8 AND rid=plink.cid),'trunk')");
  return child.bind(1, rid).step();
}

}  // namespace

/// Whether the branch of RID, where it changes, does so when its parents are known: by inheritance,
/// by a card that comes after it, or by its own if it is a check-in (others put theirs before they
/// are linked).
bool Derivation::names_branch_of_parents(Rid rid) {
  const std::optional<TagEntry> branch = tag_entry(c_.database, kTagBranch, rid);
  if (!branch || branch->source == 0) return true;
  if (branch->source != rid) return order_.before(rid, branch->source);
  return c_.database.query("SELECT 1 FROM event WHERE objid=?1 AND type='ci'").bind(1, rid).step();
}

/// Fossil looks at an artifact and its parents where the branch tag changes, and at no others: one
/// without a tag on its line is never a leaf. CHANGED is RID or a child of it.
bool Derivation::is_looked_at_for_leaves(Rid rid, Rid changed) {
  if (rid == changed || tag_entry(c_.database, kTagBranch, rid)) return true;
  std::vector<Rid> children;
  {
    Query query =
        c_.database.query("SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1");
    query.bind(1, rid);
    while (query.step()) children.push_back(query.integer(0));
  }
  return std::ranges::any_of(children, [&](Rid child) {
    const bool has_branch = child == changed || tag_entry(c_.database, kTagBranch, child);
    return has_branch && names_branch_of_parents(child);
  });
}

void Derivation::refresh_leaf(Rid rid) {
  std::vector<Rid> check = parents_of(rid);
  check.push_back(rid);
  for (const Rid candidate : check) {
    const bool is_leaf =
        is_looked_at_for_leaves(candidate, rid) && !has_child_on_its_branch(c_.database, candidate);
    c_.database
        .query(is_leaf ? "INSERT OR IGNORE INTO leaf(rid) VALUES(?1)"
                       : "DELETE FROM leaf WHERE rid=?1")
        .bind(1, candidate)
        .run();
  }
}

void Derivation::outgrow_parents(Rid rid) {
  for (const Rid parent : parents_of(rid)) {
    if (!has_child_on_its_branch(c_.database, parent)) continue;
    c_.database.query("DELETE FROM leaf WHERE rid=?1").bind(1, parent).run();
  }
}

}  // namespace quarry::repository
