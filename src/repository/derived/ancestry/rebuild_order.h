// The order in which `fossil rebuild` looks at artifacts. Nearly nothing in the derived tables
// depends on it; where something does (which of several close children moves its parent's time,
// which of two equally old tags wins), the same choice is made here.
//
//   artifacts that are stored whole, by row number; after each the deltas on it, after each of
//   those the deltas on that one, and so on. Deltas on the same artifact come in the order in which
//   they lie in a hash table of fossil's (slot = 101 * rid modulo the table's size, next slot where
//   taken).
//
// On the way it makes deltas of some that are stored whole (see rebuild_deltas.h). What it has not
// come to by then it passes over, with all deltas on that, and looks at last: by row number, but
// after each what is made from it by deltas, as above, where that has not been looked at yet.
//
// And what it would make a delta on an artifact that is made from it, it leaves as it is, but stores
// that other artifact whole. If it comes to the other's row number only then, it looks at it again,
// and now at what it has made deltas on that meanwhile:
//
//   row    10       20       30                  look at 10, and at 30, which is made from it: 10 is
//         whole    whole    delta on 10          a parent, so 30 becomes whole; so is 20, which
//         parent   parent   check-in             becomes a delta on it. Then 30 again, then 20.
//
// The second look counts in itself for check-ins that change no file, and for documents: their rows
// of `event` are written anew.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lineage.h"
#include "rebuild_deltas.h"
#include "store/content_expansion.h"
#include "tag_entries.h"

namespace quarry::repository {

class RebuildOrder {
 public:
  /// None is owned.
  RebuildOrder(Database& database, ContentExpansion& contents, Lineage& lineage, TagEntries& tags)
      : database_(database), rebuild_deltas_(database, contents, lineage, tags) {}

  RebuildDeltas& rebuild_deltas() { return rebuild_deltas_; }

  /// Whether A is looked at before B. Throws SqliteError, as all here do.
  bool before(Rid a, Rid b);
  /// Whether RID is looked at twice, the second time when its row number comes.
  bool is_looked_at_again(Rid rid);
  /// Whether A is looked at before that second time.
  bool before_again(Rid a, Rid rid);
  /// RIDS in the order in which they are looked at.
  void sort(std::vector<Rid>& rids);

  struct Place {
    bool is_put_off;
    Rid first;  // what is looked at by its row number, and then what hangs on it, up to here
    std::size_t after;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  /// For many artifacts: the first call reads all deltas.
  Place place(Rid rid);

  /// What the deltas that make RID begin with; RID itself if it is stored whole.
  Rid whole(Rid rid);
  /// Whether RID is stored as a delta.
  bool is_delta(Rid rid);
  /// RID and all that is made from it by deltas.
  std::vector<Rid> made_from(Rid rid);
  /// Whether RID may be looked at before row UNTIL, though what it is made from in the end, WHOLE,
  /// has no smaller number. Looks at what its row numbers are alone.
  bool may_come_early(Rid whole, Rid until);

  /// Forgets what is known of the file: it changes.
  void forget();
  /// Many questions follow, and no delta changes: all deltas are read once. Until let_go().
  void hold();
  void let_go();

 private:
  struct Delta {
    Rid first;
    std::size_t after;
  };
  /// All of them.
  struct Deltas {
    std::unordered_map<Rid, std::vector<Rid>> based_on;
    std::unordered_map<Rid, Delta> in_turn;  // each with what it is made from in the end
    // Of what is looked at with something that is looked at again, and of what is put off; once it
    // was asked for.
    std::unordered_map<Rid, Delta> again, late;
  };
  /// From what is looked at by its row number to RID.
  struct Path {
    bool is_put_off;
    bool is_again;  // it begins with what is looked at for the second time
    std::vector<Rid> rids;
  };
  Path path(Rid rid);
  Path path_in_turn(Rid rid, Rid turn);
  bool is_before(const Path& a, const Path& b);
  Rid made_delta_on(Rid stored);
  Rid made_delta_on(Rid stored, Rid until);
  Rid turn(Rid rid, Rid until);
  Rid top_of(Rid rid, Rid turn);
  bool is_made_whole(Rid rid, Rid top, Rid turn);
  bool becomes_delta(Rid rid, const Path& until, Rid row);
  std::vector<Rid> made_deltas_on(Rid rid);
  std::vector<Rid> deltas_on(Rid rid);
  void read_deltas();
  void read_again(Rid rid);
  void read_late(Rid stored);

  Database& database_;
  RebuildDeltas rebuild_deltas_;
  bool is_held_ = false;
  std::map<std::pair<Rid, Rid>, Rid> made_delta_on_;  // what is stored whole, until some row
  std::unordered_map<Rid, Rid> tops_;
  int depth_ = 0;
  std::optional<Deltas> deltas_;
};

/// RIDS, ascending, in the order of that hash table.
std::vector<Rid> hash_order(const std::vector<Rid>& rids);

}  // namespace quarry::repository
