// Rows of `event` and related tables, for the functions that list the project's history.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/repository/arrivals.h"
#include "quarry/repository/check_ins.h"
#include "quarry/repository/project_history.h"
#include "repository_state.h"

namespace quarry::repository {

/// Returns whether the artifact RID, whose hash is HASH, is neither private nor shunned. Throws
/// SqliteError.
bool is_public(Repository::State& state, Rid rid, std::string_view hash);

/// Like is_public(), but returns false if the artifact is waiting (Repository::is_waiting()).
/// Throws SqliteError.
bool is_shown(Repository::State& state, Rid rid, std::string_view hash);

/// Returns the timeline's entry for the artifact RID, of any kind, or nullopt if there is none.
/// Throws SqliteError.
std::optional<TimelineEntry> timeline_entry(Repository::State& state, Rid rid,
                                            const artifact::HashName& name);

/// Returns the kind of RID, whose timeline entry is ENTRY. Throws SqliteError.
ArtifactKind kind_of(Repository::State& state, Rid rid, const std::optional<TimelineEntry>& entry);

/// Describes the artifact RID, which has the hash NAME and SIZE bytes. Throws SqliteError.
ReceivedArtifact describe(Repository::State& state, Rid rid, const artifact::HashName& name,
                          std::int64_t size);

/// A check-in without a child on its own branch.
struct Leaf {
  Rid rid;
  std::string branch;
  double day;  // displayed time, as a Julian day
};

/// Returns the leaves of BRANCH, or all leaves if BRANCH is nullopt, newest first. Includes private
/// leaves. Throws SqliteError.
std::vector<Leaf> leaves_of(Repository::State& state,
                            std::optional<std::string_view> branch = std::nullopt);

/// Returns the newest open leaf of BRANCH that is public. Errors: kNotFound, kConflict (the branch
/// is closed). Throws SqliteError.
Result<BranchTip> tip_of(RepositoryState& state, std::string_view branch);

struct ShownLeaf {
  artifact::HashName name;
  bool is_closed;
};

/// Returns the name of LEAF, and whether the leaf is closed. Returns nullopt if the leaf is not
/// public. Throws SqliteError.
std::optional<ShownLeaf> show(Repository::State& state, const Leaf& leaf);

}  // namespace quarry::repository
