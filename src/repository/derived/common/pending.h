// Pending work on the derived tables: new artifacts, and the rows that have to be recomputed
// because of these artifacts.
//
// Derivation collects new artifacts in a Pending, and passes the Pending to a run. During the run,
// the parts mark rows that other parts have to recompute (see derivation.h). With these marks, a
// part never has to call the part that called it.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "quarry/artifact/structural.h"
#include "quarry/base/time.h"
#include "quarry/repository/rid.h"
#include "store/names.h"

namespace quarry::repository {

/// An artifact, ordered by the time of its D card.
struct Dated {
  double day;
  Rid rid;
  friend auto operator<=>(const Dated&, const Dated&) = default;
};

struct Pending {
  // --- arrivals ----------------------------------------------------------------------------------
  std::vector<Rid> clusters;
  std::vector<Rid> non_check_ins;  // can be parents of check-ins
  std::set<Dated> check_ins;
  std::set<Dated> controls;
  std::set<Dated> others;
  bool has_parent_tags = false;  // an artifact sets the parents of a check-in
  bool is_everything = false;    // the tables are empty, and all artifacts of the file are pending

  // --- rows to recompute -------------------------------------------------------------------------
  // Check-ins.
  std::set<Rid> stale_mlinks;
  std::set<Rid> stale_times;  // event.mtime
  // Rows of `event`:
  std::set<Rid> stale_events;  // rows with changed tags
  std::set<Rid> stale_leaves;
  std::set<Rid> new_children;  // check-ins whose parents might no longer be leaves
  // Rows that depend on several artifacts:
  std::set<std::int64_t> stale_pages;      // tags of wiki pages
  std::set<std::int64_t> stale_technotes;  // tags of technotes
  std::set<std::string> stale_targets;     // targets of attachments
  std::set<std::string> stale_tickets;
  std::set<Rid> stale_threads;  // roots of forum threads

  // --- results -----------------------------------------------------------------------------------
  std::vector<Rid> hidden;  // made private by a tag

  /// Returns whether there is no work to do.
  bool is_empty() const {
    return stale_tickets.empty() && non_check_ins.empty() && check_ins.empty() &&
           controls.empty() && others.empty() && clusters.empty();
  }
  /// Marks rows that depend on TAG of RID, which has changed.
  void note_tag_change(std::int64_t tag, Rid rid) {
    if (tag >= kTagBgcolor && tag <= kTagDate) stale_events.insert(rid);
    if (tag == kTagBranch) stale_leaves.insert(rid);
  }
  /// Adds ARTIFACT, whose row id is RID. ARTIFACT must have a date, and must not be a cluster.
  void add(Rid rid, const artifact::Structural& artifact) {
    for (const artifact::TagCard& tag : artifact.tags) has_parent_tags |= tag.name == "parent";
    auto& queue = artifact.type == artifact::StructuralType::kCheckIn   ? check_ins
                  : artifact.type == artifact::StructuralType::kControl ? controls
                                                                        : others;
    queue.insert({base::julian_day(*artifact.date), rid});
  }
};

}  // namespace quarry::repository
