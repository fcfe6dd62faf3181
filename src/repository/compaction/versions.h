// Which artifacts are versions of one thing, and which of them is the later one:
//
//   check-ins      of the project, by the time that the timeline shows
//   files          that check-ins name one as the successor of the other (`mlink`), or that had the
//                  same name; a content that comes and goes counts from the last time that it came
//   wiki pages,    by their own times
//   technotes
//
// Nothing else has versions here: changes of a ticket have little in common, and of forum posts
// fossil makes no deltas.
//
// "Later" orders all artifacts of a kind, so deltas from earlier ones to later ones make no circle.
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

  // Both: the later versions that RID may be a delta on, a few of them.

  /// Its direct successors, or, where a file has none, what came next under its name.
  std::vector<Rid> after(Rid rid);
  /// What came next in the project, of a check-in; for where it has too little in common with its
  /// direct successors. Of others, nothing.
  std::vector<Rid> next_in_project(Rid rid);

  /// What RID, or the check-in RID, has made the earlier version of something.
  std::vector<Rid> before(Rid rid);
  /// Whether ONE is the later version; nothing where there is no telling.
  std::optional<bool> is_later(Rid one, Rid other);

 private:
  enum class Kind { kCheckIn, kFile, kPage };
  struct Place {
    Kind kind;
    double time;
    std::int64_t tag = 0;  // the page's
  };

  std::optional<Place> place_of(Rid rid);
  std::optional<Place> place_of_page(Rid rid);
  static bool is_before(const Place& place, Rid rid, const Place& other, Rid other_rid);
  std::vector<Rid> later_ones(Rid rid, const Place& place, const std::vector<Rid>& found);
  std::vector<Rid> next_of_name(Rid rid, const Place& place);
  /// The first column of QUERY's rows.
  static std::vector<Rid> rows(Query query);

  Database& database_;
};

}  // namespace quarry::repository
