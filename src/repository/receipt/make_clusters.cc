// Creates clusters of the unclustered artifacts.

#include <cstddef>

#include "quarry/artifact/blob.h"
#include "receipt_state.h"
#include "store/hash_policy.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

constexpr std::size_t kClusterAt = 100;    // minimum number of unclustered artifacts
constexpr std::size_t kClusterSize = 800;  // names per cluster, except in the last cluster

}  // namespace

Result<Rid> Receipt::State::make_cluster(std::vector<HashName> members) {
  const std::string text = artifact::format_cluster(std::move(members));
  const HashName name = HashName::of(hash_for_own(r.database), text);
  const Rid known = r.names.find(name.str());
  const Arrival arrival{.name = name, .payload = text};
  return store_content(known, arrival, std::make_shared<const std::string>(text),
                       artifact::blob_compress(text), 0);
}

Result<int> Receipt::make_clusters() {
  return guarded(state_->r, [&](auto& r) -> Result<int> {
    if (r.derivation.has_pending()) r.derivation.run();
    std::vector<HashName> names;
    {
      Query query = r.database.query(
          "SELECT (SELECT uuid FROM blob WHERE rid=u.rid AND size>=0"
          "  AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=blob.uuid)"
          "  AND NOT EXISTS(SELECT 1 FROM private WHERE rid=blob.rid)), rid"
          " FROM unclustered AS u ORDER BY 1");
      while (query.step()) {
        if (r.waiting_ones().contains(query.integer(1))) continue;
        if (const auto name = HashName::parse(query.text(0))) names.push_back(*name);
      }
    }
    if (names.size() < kClusterAt) return 0;
    int made = 0;
    std::size_t at = 0;
    while (at < names.size()) {
      std::size_t count = names.size() - at;
      if (count > kClusterSize + kClusterAt) count = kClusterSize;
      const auto first = names.begin() + static_cast<std::ptrdiff_t>(at);
      QUARRY_TRY(state_->make_cluster({first, first + static_cast<std::ptrdiff_t>(count)}));
      at += count;
      ++made;
    }
    r.derivation.run();
    r.unclustered.reset();
    return made;
  });
}

}  // namespace quarry::repository
