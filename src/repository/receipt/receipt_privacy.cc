// Handles received artifacts that become public or private.

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;

void Receipt::State::publish(Rid rid) {
  if (!r.privacy.make_public(rid)) return;
  has_published = true;
  for (const Rid file : r.database.integers(
           "SELECT fid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND fid>0", rid)) {
    r.privacy.make_public(file);
  }
}

/// RID is private and has arrived as a public artifact. Makes RID public if the sender proves that
/// the sender has the content. The proof is the whole content, or a delta on a public artifact.
Result<void> Receipt::State::publish_if_proven(Rid rid, const Arrival& arrival) {
  std::string content(arrival.payload);
  if (arrival.is_compressed) {
    QUARRY_TRY_ASSIGN(content, artifact::blob_expand(content, r.options.max_artifact_size));
  }
  if (arrival.delta_source) {
    const Rid source = r.names.find(arrival.delta_source->str());
    if (source == 0 || r.privacy.is_private(source)) return {};
    const auto from = r.contents.get(source);
    if (!from) return {};
    QUARRY_TRY_ASSIGN(content, artifact::delta_apply(**from, content, r.options.max_artifact_size));
  }
  if (arrival.name.names(content)) publish(rid);
  return {};
}

Result<void> Receipt::set_private(const HashName& name, bool is_private) {
  return guarded(state_->r, [&](RepositoryState& r) {
    const Rid rid = r.names.find(name.str());
    if (rid == 0) return;
    if (!is_private) {
      state_->publish(rid);
      return;
    }
    if (r.database.has_row("SELECT 1 FROM blob WHERE rid=?1 AND size<0", rid)) r.privacy.hide(rid);
  });
}

bool Receipt::has_published() const {
  return state_->has_published;
}

}  // namespace quarry::repository
