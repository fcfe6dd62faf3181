#include "private_artifacts.h"

#include <vector>

namespace quarry::repository {

bool PrivateArtifacts::is_private(Rid rid) {
  return database_.has_row("SELECT 1 FROM private WHERE rid=?1", rid);
}

bool PrivateArtifacts::hides_anything() {
  return database_.has_row("SELECT 1 FROM private LIMIT 1");
}

void PrivateArtifacts::hide(Rid rid) {
  database_.execute("INSERT OR IGNORE INTO private(rid) VALUES(?1)", rid);
  database_.execute("DELETE FROM unclustered WHERE rid=?1", rid);
}

bool PrivateArtifacts::make_public(Rid rid) {
  database_.execute("DELETE FROM private WHERE rid=?1", rid);
  if (database_.changes() == 0) return false;
  database_.execute("INSERT OR IGNORE INTO unclustered(rid) VALUES(?1)", rid);
  store_whole_if_source_is_private(rid);
  return true;
}

void PrivateArtifacts::store_whole_if_source_is_private(Rid rid) {
  const Rid source = contents_.delta_source(rid);
  if (source == 0 || !is_private(source)) return;
  // If the source is missing, the artifact is stored whole when the source arrives.
  contents_.store_whole(rid);
}

void PrivateArtifacts::store_dependents_whole(Rid rid) {
  const std::vector<Rid> dependents = database_.integers(
      "SELECT rid FROM delta INDEXED BY delta_i1 WHERE srcid=?1"
      " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=delta.rid)",
      rid);
  for (const Rid dependent : dependents) store_whole_if_source_is_private(dependent);
}

}  // namespace quarry::repository
