#include "put_off.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

using artifact::StructuralType;

/// A rebuild looks at the check-in RID at another time than before.
void PutOff::note_children(Rid rid) {
  for (const Lineage::Child child : work_.lineage.children(rid)) {
    if (work_.lineage.is_check_in(child.rid)) {
      // It may be compared with its other parents then (event_times.cc).
      if (child.is_primary) work_.pending.stale_times.insert(child.rid);
      continue;
    }
    work_.pending.stale_mlinks.insert(child.rid);
    work_.pending.stale_times.insert(child.rid);
  }
}

/// Whether the parents of RID are looked for among the leaves hangs on when its branch was named.
void PutOff::note_branch(Rid rid) {
  if (work_.tags.get(kTagBranch, rid)) work_.pending.stale_leaves.insert(rid);
}

/// What RID has, or passes on, of comments, users and dates shows in rows of those below it where
/// these are looked at again after that (event_tags.cc).
void PutOff::note_inheritors(Rid rid) {
  Query passed = work_.database.query(
      "SELECT tagid, CASE WHEN srcid=0 THEN origid ELSE rid END FROM tagxref"
      " INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagid BETWEEN 2 AND 4 AND "
      "tagtype=2");
  passed.bind(1, rid);
  while (passed.step()) {
    Query below = work_.database.query(
        "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND origid=?2 AND srcid=0");
    below.bind(1, passed.integer(0)).bind(2, passed.integer(1));
    while (below.step()) work_.pending.stale_events.insert(below.integer(0));
  }
}

/// A rebuild looks at RID, a document perhaps, at another time than before.
void PutOff::note_moved_document(Rid rid) {
  // Most are, and need not be read.
  if (work_.lineage.is_check_in(rid)) return;
  const Manifest document = work_.manifests.get(rid);
  if (!document) return;
  if (document->type == StructuralType::kWiki) {
    work_.pending.stale_pages.insert(work_.names.tag(fmt::format("wiki-{}", document->wiki_title)));
  } else if (document->type == StructuralType::kTechnote) {
    work_.pending.stale_technotes.insert(
        work_.names.tag(fmt::format("event-{}", document->technote_id)));
    work_.pending.stale_targets.insert(std::string(document->technote_id));
  }
}

/// RID is a check-in, or something else that the tables tell of.
void PutOff::note_looked_at_elsewhere(Rid rid) {
  work_.pending.stale_times.insert(rid);
  if (work_.pending.tags_count) work_.pending.late.insert(rid);
  events_.note_earlier_tags(rid);
  note_inheritors(rid);
  note_branch(rid);
  note_children(rid);
  if (work_.lineage.is_check_in(rid)) return;
  note_moved_document(rid);
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact) return;
  if (artifact->type == StructuralType::kTicketChange) {
    work_.pending.stale_tickets.insert(std::string(artifact->ticket));
    work_.pending.stale_targets.insert(std::string(artifact->ticket));
  }
  if (artifact->type == StructuralType::kForumPost) {
    const std::string_view root = artifact->thread_root;
    work_.pending.stale_threads.insert(root.empty() ? rid : work_.names.find(root));
  }
  if (artifact->attachment) {
    work_.pending.stale_targets.insert(std::string(artifact->attachment->target));
  }
  note_moved_control(*artifact);
}

void PutOff::note_moved_control(const artifact::Structural& control) {
  for (const artifact::TagCard& tag : control.tags) {
    const Rid target = tag.target.empty() ? 0 : work_.names.find(tag.target);
    if (target == 0) continue;
    events_.note_earlier_tags(target);
    note_inheritors(target);
    note_branch(target);
    note_moved_document(target);
    work_.pending.stale_times.insert(target);
    if (work_.pending.tags_count) work_.pending.late.insert(target);
  }
}

void PutOff::note_moved(const Moved& moved) {
  std::vector<Moved> todo{moved};
  std::set<Rid> seen;
  while (!todo.empty()) {
    const auto [first, former_whole] = todo.back();
    todo.pop_back();
    if (!seen.insert(first).second) continue;
    const Rid whole = work_.order.whole(first);
    for (const Rid rid : work_.order.made_from(first)) {
      Query told = work_.database.query(
          "SELECT 1 WHERE EXISTS(SELECT 1 FROM event WHERE objid=?1)"
          " OR EXISTS(SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1)");
      if (!told.bind(1, rid).step()) continue;
      note_looked_at_elsewhere(rid);
      for (const Rid parent : work_.order.rebuild_deltas().tried_with(rid)) {
        // Who comes before both is put off by neither.
        if (parent < whole && parent < former_whole && !work_.order.may_come_early(whole, parent) &&
            !work_.order.may_come_early(former_whole, parent)) {
          continue;
        }
        if (!work_.order.is_delta(parent)) todo.push_back({parent, parent});
      }
    }
  }
}

void PutOff::note_put_off(Rid rid) {
  if (work_.is_whole) return;
  std::vector<Rid> todo{rid};
  // A child that was there before is compared with all its parents now.
  for (const Lineage::Child child : work_.lineage.children(rid)) todo.push_back(child.rid);
  std::ranges::copy(work_.lineage.picked_by(rid), std::back_inserter(todo));
  while (!todo.empty()) {
    const Rid child = todo.back();
    todo.pop_back();
    std::optional<Rid> whole;
    for (const Rid parent : work_.order.rebuild_deltas().tried_with(child)) {
      // Only what is stored whole can be made a delta. Above what was put off before, all is known.
      if (put_off_.contains(parent) || work_.order.is_delta(parent)) continue;
      if (!whole) whole = work_.order.whole(child);
      if (parent < *whole && !work_.order.may_come_early(*whole, parent)) continue;
      put_off_.insert(parent);
      for (const Rid moved : work_.order.made_from(parent)) {
        work_.pending.late.insert(moved);
        work_.pending.stale_times.insert(
            moved);  // its parents' times are by the child that is looked at last
        events_.note_earlier_tags(moved);
        note_inheritors(moved);
        note_branch(moved);
        note_children(moved);
        note_moved_document(moved);
        todo.push_back(moved);
      }
    }
  }
}

}  // namespace quarry::repository
