// Rows of `event`, and of what surrounds them, as they are told to others.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/repository/project_history.h"
#include "repository_state.h"

namespace quarry::repository {

/// Whether everybody may know of the artifact RID, called HASH: it is neither private nor shunned.
/// Throws SqliteError.
bool is_public(Repository::State& state, Rid rid, std::string_view hash);

/// Whether it can be shown to everybody: besides, it does not wait (see Repository::is_waiting()).
/// Throws SqliteError.
bool is_shown(Repository::State& state, Rid rid, std::string_view hash);

/// What the timeline tells of the artifact RID, if it does: whatever it is. Throws SqliteError.
std::optional<TimelineEntry> timeline_entry(Repository::State& state, Rid rid,
                                            const artifact::HashName& name);

/// What RID is, where ENTRY is told of it. Throws SqliteError.
ArtifactKind kind_of(Repository::State& state, Rid rid, const std::optional<TimelineEntry>& entry);

/// A check-in without a child on its own branch.
struct Leaf {
  Rid rid;
  std::string branch;
  double day;  // as it is shown
};

/// Those on BRANCH, or all of them, newest first: what is private, too. Throws SqliteError.
std::vector<Leaf> leaves_of(Repository::State& state,
                            std::optional<std::string_view> branch = std::nullopt);

struct ShownLeaf {
  artifact::HashName name;
  bool is_closed;
};

/// LEAF, if everybody may see it. Throws SqliteError.
std::optional<ShownLeaf> show(Repository::State& state, const Leaf& leaf);

}  // namespace quarry::repository
