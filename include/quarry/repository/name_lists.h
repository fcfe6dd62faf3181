// Lists of artifact names for a sync session: stored, unclustered, missing and unsent artifacts.
//
// Use inside a Snapshot or a Receipt. Functions that do not return a Result throw if the file
// cannot be read.
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
  /// Created by Repository. STATE is not owned.
  explicit NameLists(RepositoryState& state) : state_(&state) {}

  /// Names of all artifacts except phantoms, shunned and private ones, in rid order (legacy clone).
  base::Result<void> visit_names(const std::function<void(const artifact::HashName&)>& visit);
  /// Names of the clusters, except unclustered ones and those that visit_names() leaves out too.
  std::vector<artifact::HashName> clusters();
  /// Names of the private artifacts that have content, for a client that may receive them.
  std::vector<artifact::HashName> private_names();

  /// Names of the artifacts that were created here and have not been sent to any server yet, except
  /// private ones. A push begins with them.
  std::vector<artifact::HashName> unsent();

  // Inside a Receipt, the functions below first update the derived tables, because received
  // artifacts may refer to missing ones.

  /// Names of all unclustered artifacts except phantoms, private and shunned ones. Cached until the
  /// file changes; the reference is valid until the next call.
  const std::vector<artifact::HashName>& unclustered();
  /// The same, for a caller that looks up only a few of the names. Returns nullptr if more than
  /// LIMIT names would have to be read first.
  const std::vector<artifact::HashName>* unclustered_within(std::size_t limit);
  /// Names of at most LIMIT phantoms. Leaves out shunned ones, and private ones unless
  /// INCLUDE_PRIVATE is set.
  std::vector<artifact::HashName> phantoms(std::size_t limit, bool include_private);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
