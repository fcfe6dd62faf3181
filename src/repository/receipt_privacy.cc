// What is private and what becomes public: an artifact that is public must never be stored as a
// delta on one that is not.

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;

/// Makes a private artifact public, and with a check-in the files that it changed. What becomes
/// public enters `unclustered` even if some cluster names it already: the next cluster takes it out
/// again.
void Receipt::State::publish(Rid rid) {
  const auto make_public = [this](Rid artifact) {
    r.database.query("DELETE FROM private WHERE rid=?1").bind(1, artifact).run();
    if (r.database.changes() == 0) return false;
    r.database.query("INSERT OR IGNORE INTO unclustered(rid) VALUES(?1)").bind(1, artifact).run();
    store_whole_if_source_is_private(artifact);
    return true;
  };
  if (!make_public(rid)) return;
  std::vector<Rid> files;
  Query query =
      r.database.query("SELECT fid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND fid>0");
  query.bind(1, rid);
  while (query.step()) files.push_back(query.integer(0));
  for (const Rid file : files) make_public(file);
}

bool Receipt::State::is_private(Rid rid) {
  return r.database.query("SELECT 1 FROM private WHERE rid=?1").bind(1, rid).step();
}

void Receipt::State::store_whole_if_source_is_private(Rid rid) {
  const Rid source = r.contents.delta_source(rid);
  if (source == 0 || !is_private(source)) return;
  const auto content = r.contents.get(rid);
  // It waits for its source, and is looked at again when that has come.
  if (!content) return;
  r.database.query("UPDATE blob SET content=?1 WHERE rid=?2")
      .bind_blob(1, artifact::blob_compress(**content))
      .bind(2, rid)
      .run();
  r.database.query("DELETE FROM delta WHERE rid=?1").bind(1, rid).run();
}

void Receipt::State::store_dependents_whole(Rid rid) {
  std::vector<Rid> dependents;
  {
    Query query = r.database.query(
        "SELECT rid FROM delta INDEXED BY delta_i1 WHERE srcid=?1"
        " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=delta.rid)");
    query.bind(1, rid);
    while (query.step()) dependents.push_back(query.integer(0));
  }
  for (const Rid dependent : dependents) store_whole_if_source_is_private(dependent);
}

/// RID is private and comes as a public artifact. Who sends it has to have it: all of its bytes, or
/// a delta on something that everybody may see.
base::Result<void> Receipt::State::publish_if_proven(Rid rid, const Arrival& arrival) {
  std::string content(arrival.payload);
  if (arrival.is_compressed) {
    QUARRY_TRY_ASSIGN(content, artifact::blob_expand(content, r.options.max_artifact_size));
  }
  if (arrival.delta_source) {
    const Rid source = r.names.find(arrival.delta_source->str());
    if (source == 0 || is_private(source)) return {};
    const auto from = r.contents.get(source);
    if (!from) return {};
    QUARRY_TRY_ASSIGN(content, artifact::delta_apply(**from, content, r.options.max_artifact_size));
  }
  if (arrival.name.names(content)) publish(rid);
  return {};
}

base::Result<void> Receipt::set_private(const HashName& name, bool is_private) {
  Repository::State& r = state_->r;
  return guarded(r.path, [&]() -> base::Result<void> {
    const Rid rid = r.names.find(name.str());
    if (rid == 0) return {};
    if (!is_private) {
      state_->publish(rid);
      return {};
    }
    Query phantom = r.database.query("SELECT 1 FROM blob WHERE rid=?1 AND size<0");
    if (!phantom.bind(1, rid).step()) return {};
    r.database.query("INSERT OR IGNORE INTO private(rid) VALUES(?1)").bind(1, rid).run();
    r.database.query("DELETE FROM unclustered WHERE rid=?1").bind(1, rid).run();
    return {};
  });
}

}  // namespace quarry::repository
