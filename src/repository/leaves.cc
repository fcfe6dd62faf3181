// A leaf is a check-in without a child on its own branch. Only those count whose branch is known,
// and their parents: a history without any branch tag has no leaves (as in fossil).

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

// Fossil looks at a check-in and its parents where the branch tag changes, and at no others: one
// without a tag on its line is never a leaf.
void Derivation::refresh_leaf(Rid rid) {
  std::vector<Rid> check = parents_of(rid);
  check.push_back(rid);
  for (const Rid candidate : check) {
    const bool is_leaf = !has_child_on_its_branch(c_.database, candidate);
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
