// Lists of artifacts' names: what is here, what no cluster names yet, what is missing, what has not
// been sent. What a sync session tells and asks for.
//
// Inside a Snapshot or a Receipt. All throw where the file cannot be read, but for those that
// return a Result.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"

namespace quarry::repository {

struct RepositoryState;

class NameLists {
 public:
  /// Made by Repository. STATE is not owned.
  explicit NameLists(RepositoryState& state) : state_(&state) {}

  /// Names of all artifacts but phantoms, shunned and private ones (legacy clone), in rid order.
  base::Result<void> visit_names(const std::function<void(const artifact::HashName&)>& visit);
  /// Names of the clusters, but for those that visit_names() leaves out and the unclustered ones.
  std::vector<artifact::HashName> clusters();
  /// Names of the private artifacts that have content, for a client that may have them.
  std::vector<artifact::HashName> private_names();

  /// Names of the artifacts that were made here and not sent anywhere yet, private ones left out:
  /// what a push begins with.
  std::vector<artifact::HashName> unsent();

  // Inside a Receipt the functions below first bring the derived tables up to date, since what
  // came may refer to artifacts that are not there.

  /// Names of every unclustered artifact that is no phantom, not private, not shunned. Cached until
  /// the file changes; the reference holds until the next call.
  const std::vector<artifact::HashName>& unclustered();
  /// The same for who has few names to compare with them: nullptr where more than LIMIT would have
  /// to be read first.
  const std::vector<artifact::HashName>* unclustered_within(std::size_t limit);
  /// At most LIMIT names of phantoms, never shunned ones; private ones only when INCLUDE_PRIVATE.
  std::vector<artifact::HashName> phantoms(std::size_t limit, bool include_private);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
