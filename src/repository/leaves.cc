// A leaf is a check-in without a child on its own branch. Only those count whose branch is known,
// and their parents: a history without any branch tag has no leaves (as in fossil).

#include "derivation.h"

namespace quarry::repository {

void Derivation::refresh_leaf(Rid rid) {
  std::vector<Rid> check{rid};
  {
    Query parents =
        c_.database.query("SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND pid>0");
    parents.bind(1, rid);
    while (parents.step()) check.push_back(parents.integer(0));
  }
  for (const Rid candidate : check) {
    Query same_branch_child = c_.database.query(
        "SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1"
        " AND coalesce((SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE "
        "tagid=8 AND rid=plink.pid),'trunk')"
        "  == coalesce((SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE "
        "tagid=8 AND rid=plink.cid),'trunk')");
    const bool is_leaf = !same_branch_child.bind(1, candidate).step();
    c_.database
        .query(is_leaf ? "INSERT OR IGNORE INTO leaf(rid) VALUES(?1)"
                       : "DELETE FROM leaf WHERE rid=?1")
        .bind(1, candidate)
        .run();
  }
}

}  // namespace quarry::repository
