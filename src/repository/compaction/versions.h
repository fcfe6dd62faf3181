// Determines which artifacts are versions of the same thing, and which version is later:
//
//   check-ins      all check-ins are versions of the project, by the time that the timeline shows
//   files          if a check-in makes one the successor of the other (`mlink`), or if they had
//                  the same name; content that reappears counts from its last appearance
//   wiki pages,    by their own times
//   technotes
//
// Other artifacts do not have versions here: the changes of a ticket have little in common, and
// fossil does not make deltas of forum posts.
//
// "Later" is a total order of the artifacts of a kind, so deltas on later versions do not form a
// cycle.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

class Versions {
 public:
  /// DATABASE is not owned. All functions throw SqliteError.
  explicit Versions(Database& database) : database_(database) {}

  // Both functions return a few later versions on which RID may be a delta.

  /// The direct successors of RID. For a file without successors, the next contents under its name.
  std::vector<Rid> after(Rid rid);
  /// For a check-in, the next check-ins in the project, in case it has too little in common with
  /// its direct successors. Empty for other kinds.
  std::vector<Rid> next_in_project(Rid rid);

  /// The artifacts that RID has replaced. For a check-in RID, also those that its files have
  /// replaced.
  std::vector<Rid> before(Rid rid);
  /// Whether ONE is the later version; nullopt if they cannot be compared.
  std::optional<bool> is_later(Rid one, Rid other);

 private:
  enum class Kind { kCheckIn, kFile, kPage };
  struct SortKey {
    Kind kind;
    double time;
    std::int64_t tag = 0;  // tag of a page
  };

  std::optional<SortKey> key_of(Rid rid);
  std::optional<SortKey> key_of_page(Rid rid);
  static bool is_before(const SortKey& key, Rid rid, const SortKey& other, Rid other_rid);
  std::vector<Rid> later_ones(Rid rid, const SortKey& key, const std::vector<Rid>& found);
  std::vector<Rid> next_of_name(Rid rid, const SortKey& key);

  Database& database_;
};

}  // namespace quarry::repository
