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

  /// Calls VISIT for the name of each artifact in rid order, except artifacts that are phantoms,
  /// shunned or private. The function is for clones by old clients.
  Result<void> visit_names(const std::function<void(const artifact::HashName&)>& visit);
  /// Returns the names of the clusters that another cluster lists. Leaves out clusters that are
  /// phantoms, shunned or private.
  std::vector<artifact::HashName> clusters();
  /// Returns the names of the private artifacts that have content, for a client that is allowed to
  /// receive them.
  std::vector<artifact::HashName> private_names();

  /// Returns the names of the artifacts that were created here and have not been sent to any server
  /// yet, except private ones. A push starts by sending these artifacts.
  std::vector<artifact::HashName> unsent();

  // Inside a Receipt, the functions below first update the derived tables. This adds phantoms for
  // missing artifacts to which the received artifacts refer.

  /// Returns the names of all unclustered artifacts except phantoms, private and shunned artifacts.
  /// The result is cached until the file changes. The reference is valid until the next call.
  const std::vector<artifact::HashName>& unclustered();
  /// Like unclustered(), but returns nullptr if more than LIMIT names have to be read from the
  /// file. Call this function if only a few names have to be looked up.
  const std::vector<artifact::HashName>* unclustered_within(std::size_t limit);
  /// Returns the names of at most LIMIT phantoms. Leaves out shunned artifacts. Leaves out private
  /// artifacts unless INCLUDE_PRIVATE is set.
  std::vector<artifact::HashName> phantoms(std::size_t limit, bool include_private);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
