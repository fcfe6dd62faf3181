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
// come to by then (it has the larger row number) it passes over, with all deltas on that, and looks
// at last: by row number, but after each what is made from it by deltas, as above, where that has
// not been looked at yet.
//
// (What it looks at twice is taken to be looked at once. That happens where something is made from
// what it descends from, as it may have been pushed; compaction leaves no such thing behind. It
// counts for check-ins that change no file, and for documents, where a tag on them was there first.)
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <unordered_map>
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
  /// RIDS in the order in which they are looked at.
  void sort(std::vector<Rid>& rids);

  struct Place {
    bool is_put_off;
    Rid first;  // what is looked at by its row number, and then what is made from it, up to here
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
    std::unordered_map<Rid, Delta> late;     // of what is put off, once it was asked for
  };
  /// From what is looked at by its row number to RID.
  struct Path {
    bool is_put_off;
    std::vector<Rid> rids;
  };
  Path path(Rid rid);
  bool is_put_off(Rid stored);
  std::vector<Rid> deltas_on(Rid rid);
  void read_deltas();
  void read_late(Rid stored);

  Database& database_;
  RebuildDeltas rebuild_deltas_;
  bool is_held_ = false;
  std::unordered_map<Rid, bool> put_off_;  // what is stored whole
  std::optional<Deltas> deltas_;
};

/// RIDS, ascending, in the order of that hash table.
std::vector<Rid> hash_order(const std::vector<Rid>& rids);

}  // namespace quarry::repository
