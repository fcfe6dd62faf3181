// The contents of a push: check-ins with the files that they change, moved branches and tags, and
// other artifacts. All data is read from indexes of the derived tables. The time depends on the
// size of the push, but not on the size of the repository.
//
// The lists have limits. If a push contains more check-ins, the newest ones are listed.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/repository/arrivals.h"
#include "quarry/repository/project_history.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

// With these limits, an event does not exceed event::kMaxMessage, even if every byte is escaped.
/// Limit on the listed check-ins, and on the branches.
inline constexpr std::size_t kMaxPushed = 500;
/// Limit on the moved names, and on the other artifacts.
inline constexpr std::size_t kMaxPushedOthers = 100;
/// Limit on the files, and on the parents, of a check-in.
inline constexpr std::size_t kMaxPushedFiles = 200;
/// Limit in bytes on all text of the listed check-ins.
inline constexpr std::size_t kMaxPushedText = std::size_t{512} << 10;

/// The files that differ from the first parent, at most kMaxPushedFiles.
struct ChangedFiles {
  std::size_t count = 0;  // including files that are not listed
  std::vector<std::string> added = {};
  std::vector<std::string> modified = {};
  std::vector<std::string> removed = {};
  std::vector<std::pair<std::string, std::string>> renamed = {};  // from, to
};

struct PushedCheckIn {
  TimelineEntry entry;
  std::vector<artifact::HashName> parents;  // the first parent first
  ChangedFiles files;
};

/// A branch or tag that the push has moved.
struct MovedName {
  bool is_branch = false;
  std::string name = {};
  /// The target before and after the push. For a branch, `after` is its newest check-in in the
  /// push, and `before` is the nearest ancestor on the branch that existed before the push.
  std::optional<artifact::HashName> before = std::nullopt;
  std::optional<artifact::HashName> after = std::nullopt;
};

struct PushContents {
  std::string first;  // hash of the artifact that arrived first
  std::size_t artifacts = 0;
  std::size_t check_ins = 0;
  std::size_t others = 0;        // artifacts that are neither check-ins, files nor clusters
  std::set<ArtifactKind> kinds;  // kinds of all artifacts
  std::set<std::string> branches;
  std::vector<PushedCheckIn> listed;  // oldest first
  std::vector<MovedName> names;
  std::vector<ReceivedArtifact> other_artifacts;
  bool is_truncated = false;  // a list is not complete
};

/// Describes the push that brought ARTIFACTS (Received::pushed). Use this function inside a
/// Snapshot or a Receipt. Errors: kIo, kCorrupt.
Result<PushContents> push_contents(Repository& repository, const std::vector<Rid>& artifacts);

}  // namespace quarry::repository
