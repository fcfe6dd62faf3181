// Determines which artifacts are versions of the same object, and which version is later:
//
//   check-ins      All check-ins are versions of the project, sorted by displayed time.
//   files          Two files are versions if a check-in replaces one with the other (`mlink`), or
//                  if they had the same name. A file is dated by the last check-in that
//                  introduced its content.
//   wiki pages,    Versions of the same page or technote are sorted by their own times.
//   technotes
//
// Other artifacts are not treated as versions: the changes of a ticket have little in common, and
// fossil does not store forum posts as deltas.
//
// The artifacts of a kind are totally ordered by "later", so deltas on later versions cannot form a
// cycle.
#pragma once

#include <optional>
#include <vector>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

class Versions {
 public:
  /// DATABASE is not owned. All functions throw SqliteError.
  explicit Versions(Database& database) : database_(database) {}

  // after() and next_in_project() return a few later versions on which RID can be stored as a
  // delta.

  /// Returns the direct successors of RID. For a file without successors, returns the next contents
  /// with the same file name.
  std::vector<Rid> after(Rid rid);
  /// For a check-in, returns the check-ins that follow it in the project. The caller uses these
  /// check-ins if RID has too little in common with its direct successors. For other kinds, returns
  /// an empty list.
  std::vector<Rid> next_in_project(Rid rid);

  /// Returns the artifacts that RID has replaced. If RID is a check-in, also returns the artifacts
  /// that its files have replaced.
  std::vector<Rid> before(Rid rid);
  /// Returns whether ONE is later than OTHER, or nullopt if the two cannot be compared.
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
