// What the derived tables do not say yet: the artifacts that came, and the rows that have to be
// made anew because of them.
//
// A plain value. Derivation fills it as artifacts arrive, and it is moved out when they are worked
// on; meanwhile the parts mark in it what others of them have to look at (see derivation.h). So no
// part calls back the one that called it, and what is left when all is done goes with the value.
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

/// An artifact, in the order of the D cards.
struct Dated {
  double day;
  Rid rid;
  friend auto operator<=>(const Dated&, const Dated&) = default;
};

struct Pending {
  // --- what came ---------------------------------------------------------------------------------
  std::vector<Rid> clusters;
  std::vector<Rid> non_check_ins;  // what is no check-in; one may name it for its parent
  std::set<Dated> check_ins;
  std::set<Dated> controls;
  std::set<Dated> others;
  bool has_parent_tags = false;  // one of these gives a check-in other parents
  bool is_everything = false;    // the tables are empty, and every artifact of the file came

  // --- what has to be made anew ------------------------------------------------------------------
  // Of check-ins.
  std::set<Rid> stale_mlinks;
  std::set<Rid> stale_times;  // event.mtime
  // Of rows of `event`.
  std::set<Rid> stale_events;  // what tags make of them
  // Of leaves.
  std::set<Rid> stale_leaves;
  std::set<Rid> new_children;  // a parent of theirs may be a leaf no longer
  // Of what several artifacts say of one thing.
  std::set<std::int64_t> stale_pages;      // tags of wiki pages
  std::set<std::int64_t> stale_technotes;  // tags of technotes
  std::set<std::string> stale_targets;     // of attachments
  std::set<std::string> stale_tickets;
  std::set<Rid> stale_threads;  // their roots

  // --- what came of it ---------------------------------------------------------------------------
  std::vector<Rid> hidden;  // a tag has made them private

  /// Whether there is anything to work on.
  bool is_empty() const {
    return stale_tickets.empty() && non_check_ins.empty() && check_ins.empty() &&
           controls.empty() && others.empty() && clusters.empty();
  }
  /// TAG on RID is another one, or has another value.
  void note_tag_change(std::int64_t tag, Rid rid) {
    if (tag >= kTagBgcolor && tag <= kTagDate) stale_events.insert(rid);
    if (tag == kTagBranch) stale_leaves.insert(rid);
  }
  /// ARTIFACT, which is RID, is no cluster and has a date: it waits for its turn.
  void add(Rid rid, const artifact::Structural& artifact) {
    for (const artifact::TagCard& tag : artifact.tags) has_parent_tags |= tag.name == "parent";
    auto& queue = artifact.type == artifact::StructuralType::kCheckIn   ? check_ins
                  : artifact.type == artifact::StructuralType::kControl ? controls
                                                                        : others;
    queue.insert({base::julian_day(*artifact.date), rid});
  }
};

}  // namespace quarry::repository
