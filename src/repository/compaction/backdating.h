// What a rebuild may look at twice for the dates of its versions, where that counts.
//
// Versions become deltas on those that are dated later, and a rebuild makes deltas of parents on
// their children. Where a child is dated before an ancestor, the two meet: the child is made from
// its parent in the end, and when the rebuild notices, it stores the child whole and looks at it
// again later (see rebuild_deltas.h). That changes nothing for most artifacts. It does for
//
//   check-ins that change no file    their row of `event` is written anew, with the tags that are
//                                    there by then
//   documents                        the same, without the tags
//
// So these are left as they are where a backdated child may be among what they would be made from:
//
//   time     ──── child ──── x ──── parent ────▶      child: x itself or any other
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

class Backdating {
 public:
  /// DATABASE is not owned. All functions throw SqliteError.
  explicit Backdating(Database& database) : database_(database) {}

  /// Whether a second look at RID would count.
  bool can_count(Rid rid);
  /// Whether RID, of which can_count() is true, may get one as a delta on a later version.
  bool may_count(Rid rid);
  /// The file has changed.
  void forget() { backdated_.clear(); }

 private:
  using Moment = std::pair<double, Rid>;
  /// What RID is a version of, and when.
  struct Place {
    std::int64_t page = 0;  // its tag; 0: the project
    Moment moment;
  };
  struct Backdated {
    Moment child, parent;
  };

  std::optional<Place> place_of(Rid rid);
  std::vector<Backdated> read(std::int64_t page);

  Database& database_;
  std::map<std::int64_t, std::vector<Backdated>> backdated_;  // of those that were asked for
};

}  // namespace quarry::repository
