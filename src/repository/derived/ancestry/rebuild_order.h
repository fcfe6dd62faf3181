// The order in which `fossil rebuild` looks at artifacts. Nearly nothing in the derived tables
// depends on it; where something does (which of several close children moves its parent's time,
// which of two equally old tags wins), the same choice is made here.
//
//   artifacts that are stored whole, by row number; after each the deltas on it, after each of
//   those the deltas on that one, and so on. Deltas on the same artifact come in the order in which
//   they lie in a hash table of fossil's (slot = 101 * rid modulo the table's size, next slot where
//   taken).
//
// When it looks at a check-in, rebuild makes its parents, where they are stored whole, deltas on
// it, and when at a wiki page or technote the version before. What it has not come to by then (it
// has the larger row number) it passes over, with all deltas on that, and looks at last, by row
// number.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lineage.h"
#include "store/content_expansion.h"
#include "tag_entries.h"

namespace quarry::repository {

class RebuildOrder {
 public:
  /// None is owned.
  RebuildOrder(Database& database, ContentExpansion& contents, Lineage& lineage, TagEntries& tags)
      : database_(database), contents_(contents), lineage_(lineage), tags_(tags) {}

  /// Whether A is looked at before B. Throws SqliteError, as all here do.
  bool before(Rid a, Rid b);
  /// RIDS in the order in which they are looked at.
  void sort(std::vector<Rid>& rids);

  struct Place {
    bool is_put_off;
    Rid whole;  // what the deltas up to here are made from; the artifact itself if it is put off
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
    Rid whole;
    std::size_t after;
  };
  bool is_put_off(Rid stored);
  std::vector<Rid> children(Rid rid);
  bool becomes_delta(Rid rid, Rid source);
  void read_deltas();

  Database& database_;
  ContentExpansion& contents_;
  Lineage& lineage_;
  TagEntries& tags_;
  bool is_held_ = false;
  std::unordered_map<Rid, bool> put_off_;  // what is stored whole
  std::optional<std::unordered_map<Rid, Delta>> deltas_;
};

/// RIDS, ascending, in the order of that hash table.
std::vector<Rid> hash_order(const std::vector<Rid>& rids);

}  // namespace quarry::repository
