// Rows of `event` and related tables, for the functions that list the project's history.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/repository/check_ins.h"
#include "quarry/repository/project_history.h"
#include "repository_state.h"

namespace quarry::repository {

/// Whether the artifact RID, whose hash is HASH, is neither private nor shunned. Throws
/// SqliteError.
bool is_public(Repository::State& state, Rid rid, std::string_view hash);

/// Whether the artifact is public and not waiting (see Repository::is_waiting()). Throws
/// SqliteError.
bool is_shown(Repository::State& state, Rid rid, std::string_view hash);

/// The timeline's entry for the artifact RID, of any kind; nullopt if there is none. Throws
/// SqliteError.
std::optional<TimelineEntry> timeline_entry(Repository::State& state, Rid rid,
                                            const artifact::HashName& name);

/// The kind of RID, whose timeline entry is ENTRY. Throws SqliteError.
ArtifactKind kind_of(Repository::State& state, Rid rid, const std::optional<TimelineEntry>& entry);

/// A check-in without a child on its own branch.
struct Leaf {
  Rid rid;
  std::string branch;
  double day;  // as displayed
};

/// The leaves of BRANCH, or all leaves if it is nullopt, newest first, including private ones.
/// Throws SqliteError.
std::vector<Leaf> leaves_of(Repository::State& state,
                            std::optional<std::string_view> branch = std::nullopt);

/// The newest open leaf of BRANCH that is public. Errors: kNotFound, kConflict (the branch is
/// closed). Throws SqliteError.
base::Result<BranchTip> tip_of(RepositoryState& state, std::string_view branch);

struct ShownLeaf {
  artifact::HashName name;
  bool is_closed;
};

/// The name of LEAF, and whether it is closed; nullopt if it is not public. Throws SqliteError.
std::optional<ShownLeaf> show(Repository::State& state, const Leaf& leaf);

}  // namespace quarry::repository
