// What `fossil rebuild` makes deltas of on its way, as far as the order in which it looks at
// artifacts hangs on that (see rebuild_order.h). When it looks at
//
//   a check-in         it tries to make deltas on it of its parents, and of what was picked for it,
//                      where they are written as it is: with a baseline, or without one. Where it
//                      has none and the other has, of the other's baseline. (Of none but the first
//                      parent, if that is plain data or absent.)
//   a wiki page, or    of the version before; and of the technote, on a version that is not older
//   a technote         but was looked at before.
//
// What is a delta already stays as it is; so does what does not become smaller by a quarter, or is
// below 50 bytes, or public where the other is private. What the other is made from is not made a
// delta either, but the other is stored whole then, and looked at once more.
#pragma once

#include <vector>

#include "lineage.h"
#include "store/content_expansion.h"
#include "tag_entries.h"

namespace quarry::repository {

class RebuildDeltas {
 public:
  /// None is owned.
  RebuildDeltas(Database& database, ContentExpansion& contents, Lineage& lineage, TagEntries& tags)
      : database_(database), contents_(contents), lineage_(lineage), tags_(tags) {}

  // All throw SqliteError.

  /// Those of which one is tried to be made a delta on RID, and perhaps more.
  std::vector<Rid> tried_with(Rid rid);
  /// Those on which RID is tried to be made a delta.
  std::vector<Rid> tried_for(Rid rid);
  /// The versions of RID, a technote, that are not older, the oldest first: RID is tried to be made a
  /// delta on the first that was looked at before it.
  std::vector<Rid> not_older(Rid rid);
  /// Whether it is tried indeed to make RID a delta on SOURCE, whatever becomes of it.
  bool is_tried(Rid rid, Rid source);
  /// Whether it is worth it to make RID a delta on SOURCE.
  bool is_worth_it(Rid rid, Rid source);

 private:
  bool has_files(Rid rid);
  bool is_compared(const Lineage::Child& child);
  std::vector<Rid> compared_with(Rid rid, bool has_baseline);

  Database& database_;
  ContentExpansion& contents_;
  Lineage& lineage_;
  TagEntries& tags_;
};

}  // namespace quarry::repository
