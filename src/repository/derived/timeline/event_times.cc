// event.mtime: where parent and child are dated within two seconds of each other, or the wrong way
// round by less, the parent is shown 25 ms before the child, so that a timeline is in order.
//
// fossil does it in rounds over all check-ins whose child (the last that it compared with them) is
// dated less than two seconds after them: a parent that is not before its child is put 25 ms before it,
// then everyone looks again at where the child is now, 30 times at most. What a round does to a
// check-in depends on its chain of such children alone, so the chain is enough to compute the same.
//
// What is no check-in but named by one for its parent, or the other way round, takes part: what
// counts is that the two have been compared (file_links.cc). It goes by the D card, a technote too.

#include "event_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "derived/common/printed_day.h"
#include "event_tags.h"

namespace quarry::repository {
namespace {

constexpr double kWindow = 2.0 / 86400.0;
constexpr double kStep = 25.0 / 86400000.0;
constexpr int kRounds = 30;

struct Link {
  double parent;                // where the parent is shown
  std::optional<double> child;  // where it takes its child to be
};

/// Where the check-in at the head of CHAIN (each the chosen child of the one before) ends up.
double settle(std::vector<Link> chain) {
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (Link& link : chain) {
      if (link.child && link.parent >= *link.child && link.parent < *link.child + kWindow) {
        link.parent = *link.child - kStep;
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

/// What the D card of the artifact RID says; nothing for what is not there, or waits.
std::optional<double> EventTimes::date_of(Rid rid) {
  if (const std::optional<double> day = work_.lineage.check_in_day(rid)) return day;
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact || !artifact->date) return std::nullopt;
  if (artifact->type == artifact::StructuralType::kCheckIn) return std::nullopt;
  return printed_day(work_.database, base::julian_day(*artifact->date));
}

/// Whether the files of CHILD have been compared with those of its parent PARENT: see
/// file_links.cc.
bool EventTimes::is_compared(Rid child, Rid parent, bool is_primary) {
  const bool child_is_check_in = work_.lineage.is_check_in(child);
  if (is_primary) return child_is_check_in || file_links_.comes_to(child, parent);
  const Rid primary = work_.lineage.primary_parent(child);
  if ((child_is_check_in || file_links_.comes_to(child, primary)) && file_links_.file_set(primary))
    return true;
  if (!work_.lineage.is_parent(parent, child)) return false;
  const Manifest manifest = work_.manifests.get(child);
  return manifest && !manifest->parents.empty() &&
         file_links_.is_compared_later(child, manifest->parents.front(), parent);
}

/// The event of RID, no check-in, is put back to where it was before adjust_times().
void EventTimes::forget_moved_time(Rid rid) {
  events_.note_compared_times(rid);
  if (!work_.pending.stale_times.contains(rid)) return;
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact || !artifact->date) return;
  const auto date = artifact->technote_date ? artifact->technote_date : artifact->date;
  work_.database.query("UPDATE event SET mtime=?2 WHERE objid=?1 AND omtime IS NULL")
      .bind(1, rid)
      .bind(2, printed_day(work_.database, base::julian_day(*date)))
      .run();
}

/// The children of RID that are dated less than the window after DAY, and whose files have been
/// compared with it.
std::vector<Dated> EventTimes::close_children(Rid rid, double day) {
  std::map<Rid, bool> related;  // whether RID is the primary parent
  for (const Rid child : work_.lineage.picked_by(rid)) related[child] = false;
  for (const Lineage::Child child : work_.lineage.children(rid))
    related[child.rid] |= child.is_primary;
  const bool has_documents = work_.lineage.is_check_in(rid);
  std::vector<std::pair<Dated, bool>> found;
  for (const auto& [child, is_primary] : related) {
    std::optional<double> date = work_.lineage.check_in_day(child);
    if (!date && has_documents && work_.lineage.is_parent(rid, child)) date = date_of(child);
    if (date && *date < day + kWindow) found.emplace_back(Dated{*date, child}, is_primary);
  }
  std::vector<Dated> children;
  for (const auto& [child, is_primary] : found) {
    if (is_compared(child.rid, rid, is_primary)) children.push_back(child);
  }
  return children;
}

/// What is marked, and everybody above it whose place hangs on it: each one's depends on its
/// children.
std::set<Rid> EventTimes::take_stale() {
  std::set<Rid> stale;
  std::vector<std::pair<Rid, int>> todo;
  for (const Rid rid : std::exchange(work_.pending.stale_times, {})) todo.emplace_back(rid, 0);
  while (!todo.empty()) {
    const auto [rid, height] = todo.back();
    todo.pop_back();
    const std::optional<double> day = date_of(rid);
    if (!day || !stale.insert(rid).second || height > kRounds) continue;
    std::vector<Rid> parents = work_.lineage.parents(rid);
    const std::vector<Rid> picked = work_.lineage.picked_for(rid);
    parents.insert(parents.end(), picked.begin(), picked.end());
    for (const Rid parent : parents) {
      const std::optional<double> made = work_.lineage.check_in_day(parent);
      if (!made || *made > *day - kWindow) todo.emplace_back(parent, height + 1);
    }
  }
  return stale;
}

bool EventTimes::is_before(const Comparison& one, const Comparison& other) {
  if (one.artifact == other.artifact && one.is_again == other.is_again) {
    return one.child < other.child;
  }
  RebuildOrder& order = work_.order;
  if (one.is_again && other.is_again) return one.artifact < other.artifact;
  if (other.is_again) return order.before_again(one.artifact, other.artifact);
  if (one.is_again) return !order.before_again(other.artifact, one.artifact);
  return order.before(one.artifact, other.artifact);
}

/// The two are compared when the child is looked at. When a parent of it is, they are once more if
/// no row has come of that; and if that is the first parent, so are the others. The same holds for a
/// second look at one that has no rows at all.
EventTimes::Comparison EventTimes::last_comparison(Rid child, Rid parent) {
  Comparison last{child, 0};
  if (!work_.lineage.is_check_in(child) || file_links_.has_changes(child, parent)) return last;
  const auto take = [&](const Comparison& again) {
    if (is_before(last, again)) last = again;
  };
  const auto take_looks = [&](Rid artifact) {
    if (!work_.lineage.is_check_in(artifact)) return;
    take({artifact, child});
    if (work_.order.is_looked_at_again(artifact) && !file_links_.has_changes(artifact)) {
      take({artifact, child, true});
    }
  };
  if (work_.order.is_looked_at_again(child) && !file_links_.has_changes(child)) {
    take({child, 0, true});
  }
  if (work_.lineage.is_parent(parent, child)) take_looks(parent);
  const Rid primary = work_.lineage.primary_parent(child);
  if (primary != 0 && primary != parent && !file_links_.has_changes(child, primary)) {
    take_looks(primary);
  }
  return last;
}

Dated EventTimes::last_compared(const std::vector<Dated>& children, Rid parent) {
  Dated chosen = children.front();
  if (children.size() == 1) return chosen;
  Comparison last = last_comparison(chosen.rid, parent);
  for (std::size_t i = 1; i < children.size(); ++i) {
    const Comparison next = last_comparison(children[i].rid, parent);
    if (!is_before(last, next)) continue;
    last = next;
    chosen = children[i];
  }
  return chosen;
}

/// The close child that RID, of DAY, goes by; nothing if it has none. It stays the same while times
/// are adjusted, and in a row of check-ins each is asked for by all above it.
std::optional<Dated> EventTimes::chosen_child(Rid rid, double day) {
  const auto [known, is_new] = chosen_.try_emplace(rid);
  if (!is_new) return known->second;
  const std::vector<Dated> children = close_children(rid, day);
  if (children.empty()) return std::nullopt;
  return chosen_[rid] = last_compared(children, rid);
}

/// Where RID, of DAY, is shown because of its close children; nothing if it has none.
std::optional<double> EventTimes::place_before_children(Rid rid, double day) {
  std::vector<Link> chain;
  while (chain.size() <= kRounds) {
    const std::optional<Dated> chosen = chosen_child(rid, day);
    if (!chosen) break;
    chain.push_back({day, chosen->day});
    rid = chosen->rid;
    day = chosen->day;
  }
  if (chain.empty()) return std::nullopt;
  return settle(std::move(chain));
}

void EventTimes::adjust_times() {
  chosen_.clear();
  for (const Rid rid : take_stale()) {
    const double day = *date_of(rid);
    const std::optional<double> place = place_before_children(rid, day);
    if (!work_.lineage.is_check_in(rid)) {
      if (!place) continue;
      work_.database
          .query("UPDATE event SET mtime=?2 WHERE objid=?1 AND (omtime IS NULL OR omtime=mtime)")
          .bind(1, rid)
          .bind(2, *place)
          .run();
      continue;
    }
    const std::optional<OwnTag> date = own_tag(work_, file_links_, rid, kTagDate);
    if (work_.is_whole && !place && !date) continue;  // it stands where it was put
    work_.database
        .query(
            "UPDATE event SET mtime=CASE WHEN ?3 AND julianday(?4) IS NOT omtime"
            " AND (julianday(?4) IS NOT NULL OR NOT ?5) THEN julianday(?4) ELSE ?2 END"
            " WHERE objid=?1")
        .bind(1, rid)
        .bind(2, place.value_or(day))
        .bind(3, date ? 1 : 0)
        .bind_optional(4, date ? date->value : std::nullopt)
        .bind(5, date && date->comes_first ? 1 : 0)
        .run();
  }
}

}  // namespace quarry::repository
