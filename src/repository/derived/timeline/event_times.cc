// The column event.mtime. If a child is dated less than two seconds before its parent, or at the
// same time, the parent is shown 25 ms before the child, so that the timeline is in order.
//
// Fossil adjusts times in at most 30 rounds. Each round processes all check-ins that have a close
// child: a child that is dated before the check-in, or less than two seconds after it. In each
// round, a parent that has the time of its child, or is less than two seconds later, is moved to 25
// ms before the child. Then all parents read the times of their children again. If a parent has
// several close children, this module uses the earliest child, and fossil uses the child that was
// compared last. The result for a check-in depends only on its chain of close children, so the
// result is computed from this chain.
//
// Artifacts of other kinds are included if they are parents of check-ins. Their time is the time of
// the D card, even for technotes.

#include "event_times.h"

#include <algorithm>
#include <map>
#include <utility>

#include "derived/common/printed_day.h"
#include "event_tags.h"

namespace quarry::repository {
namespace {

struct Link {
  double parent;                // the parent's displayed time
  std::optional<double> child;  // the child's time when the parent last read it
};

/// Returns the final time of the first check-in in CHAIN. Each check-in in CHAIN is the chosen
/// child of the previous one.
double adjusted_time(std::vector<Link> chain) {
  for (int round = 0; round < kTimeRounds; ++round) {
    bool changed = false;
    for (Link& link : chain) {
      if (link.child && link.parent >= *link.child && link.parent < *link.child + kCloseTimes) {
        link.parent = *link.child - kTimeStep;
        changed = true;
      }
    }
    if (!changed) break;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      chain[i].child = i + 1 < chain.size() ? std::optional(chain[i + 1].parent) : std::nullopt;
    }
  }
  return chain.front().parent;
}

}  // namespace

/// Returns the time in the D card of the artifact RID, or nullopt if RID is missing or is waiting
/// for its baseline.
std::optional<double> EventTimes::date_of(Rid rid) {
  if (const std::optional<double> day = work_.lineage.check_in_day(rid)) return day;
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact || !artifact->date) return std::nullopt;
  if (artifact->type == artifact::StructuralType::kCheckIn) return std::nullopt;
  return printed_day(work_.database, *artifact->date);
}

/// Returns whether the files of the check-in CHILD were compared with the files of its parent
/// (file_links.cc).
bool EventTimes::is_compared(Rid child, bool is_primary) {
  return is_primary || file_links_.file_set(work_.lineage.primary_parent(child)).has_value();
}

void EventTimes::forget_moved_time(Rid rid) {
  events_.note_compared_times(rid);
  if (!work_.pending.stale_times.contains(rid)) return;
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact || !artifact->date) return;
  const auto date = artifact->technote_date ? artifact->technote_date : artifact->date;
  work_.database.execute("UPDATE event SET mtime=?2 WHERE objid=?1 AND omtime IS NULL", rid,
                         printed_day(work_.database, *date));
}

/// Returns the children of RID that are dated close to DAY and that were compared with RID
/// (is_compared()).
std::vector<Dated> EventTimes::close_children(Rid rid, double day) {
  std::map<Rid, bool> related;  // whether RID is the primary parent
  for (const Rid child : work_.lineage.picked_by(rid)) related[child] = false;
  for (const Lineage::Child child : work_.lineage.children(rid))
    related[child.rid] |= child.is_primary;
  std::vector<Dated> children;
  for (const auto& [child, is_primary] : related) {
    const std::optional<double> date = work_.lineage.check_in_day(child);
    if (!date || *date >= day + kCloseTimes || !is_compared(child, is_primary)) continue;
    children.push_back({*date, child});
  }
  return children;
}

/// Returns the marked artifacts and the ancestors whose times can depend on them, and clears the
/// marks.
std::set<Rid> EventTimes::take_stale() {
  std::set<Rid> stale;
  std::vector<std::pair<Rid, int>> todo;
  for (const Rid rid : std::exchange(work_.pending.stale_times, {})) todo.emplace_back(rid, 0);
  while (!todo.empty()) {
    const auto [rid, height] = todo.back();
    todo.pop_back();
    const std::optional<double> day = date_of(rid);
    if (!day || !stale.insert(rid).second || height > kTimeRounds) continue;
    std::vector<Rid> parents = work_.lineage.parents(rid);
    const std::vector<Rid> picked = work_.lineage.picked_for(rid);
    parents.insert(parents.end(), picked.begin(), picked.end());
    for (const Rid parent : parents) {
      const std::optional<double> made = work_.lineage.check_in_day(parent);
      if (!made || *made > *day - kCloseTimes) todo.emplace_back(parent, height + 1);
    }
  }
  return stale;
}

/// Returns the close child that determines the time of RID, or nullopt if there is none. RID is
/// dated DAY. The result does not change while times are adjusted. It is cached because it is
/// needed for all ancestors in a chain.
std::optional<Dated> EventTimes::chosen_child(Rid rid, double day) {
  const auto [known, is_new] = chosen_.try_emplace(rid);
  if (!is_new) return known->second;
  const std::vector<Dated> children = close_children(rid, day);
  if (children.empty()) return std::nullopt;
  return chosen_[rid] = *std::ranges::min_element(children, [&](const Dated& a, const Dated& b) {
           return a.day != b.day ? a.day < b.day : work_.order.before(a.rid, b.rid);
         });
}

/// Returns the time of RID that is displayed because of close children, or nullopt if RID does not
/// have close children. RID is dated DAY.
std::optional<double> EventTimes::time_before_children(Rid rid, double day) {
  std::vector<Link> chain;
  while (chain.size() <= kTimeRounds) {
    const std::optional<Dated> chosen = chosen_child(rid, day);
    if (!chosen) break;
    chain.push_back({day, chosen->day});
    rid = chosen->rid;
    day = chosen->day;
  }
  if (chain.empty()) return std::nullopt;
  return adjusted_time(std::move(chain));
}

void EventTimes::adjust_times() {
  chosen_.clear();
  for (const Rid rid : take_stale()) {
    const double day = *date_of(rid);
    const std::optional<double> place = time_before_children(rid, day);
    if (!work_.lineage.is_check_in(rid)) {
      if (!place) continue;
      work_.database.execute(
          "UPDATE event SET mtime=?2 WHERE objid=?1 AND (omtime IS NULL OR omtime=mtime)", rid,
          *place);
      continue;
    }
    const std::optional<OwnTag> date = own_tag(work_, rid, kTagDate);
    if (work_.is_whole && !place && !date) continue;  // the row already has this time
    work_.database.execute(
        "UPDATE event SET mtime=CASE WHEN ?3 AND julianday(?4) IS NOT omtime"
        " THEN julianday(?4) ELSE ?2 END WHERE objid=?1",
        rid, place.value_or(day), date.has_value(), date ? date->value : std::nullopt);
  }
}

}  // namespace quarry::repository
