// event.mtime: where parent and child are dated within two seconds of each other, or the wrong way
// round by less, the parent is shown 25 ms before the child, so that a timeline is in order.
//
// fossil does it in rounds over all check-ins whose child (the last that it looked at) is dated
// less than two seconds after them: a parent that is not before its child is put 25 ms before it,
// then everyone looks again at where the child is now, 30 times at most. What a round does to a
// check-in depends on its chain of such children alone, so the chain is enough to compute the same.

#include <algorithm>

#include "derivation.h"
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

std::optional<double> date_of(Database& database, Rid rid) {
  Query query = database.query("SELECT omtime FROM event WHERE objid=?1 AND type='ci'");
  if (!query.bind(1, rid).step()) return std::nullopt;
  return query.real(0);
}

}  // namespace

/// Whether the files of CHILD have been compared with those of its merge parent PARENT: where there
/// are any of its primary parent to compare with, or that is plain data and PARENT came after
/// CHILD.
bool Derivation::is_compared(Rid child, Rid parent) {
  const Rid primary = primary_parent(child);
  if (file_set(primary)) return true;
  Query merge = c_.database.query(
      "SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1, blob"
      " WHERE pid=?1 AND cid=?2 AND blob.rid=?3 AND size>=0");
  return merge.bind(1, parent).bind(2, child).bind(3, primary).step() &&
         order_.before(child, parent);
}

/// The children of RID that are dated less than the window after DAY, and whose files have been
/// compared with it.
std::vector<Derivation::Dated> Derivation::close_children(Rid rid, double day) {
  std::vector<std::pair<Dated, bool>> found;
  {
    Query query = c_.database.query(
        "SELECT cid, e.omtime, max(isprim) FROM"
        " (SELECT cid, isprim FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1"
        "  UNION SELECT childid, 0 FROM cherrypick WHERE parentid=?1 AND NOT isExclude)"
        " JOIN event AS e ON e.objid=cid AND e.type='ci' WHERE e.omtime<?2 GROUP BY cid");
    query.bind(1, rid).bind(2, day + kWindow);
    while (query.step()) {
      found.emplace_back(Dated{query.real(1), query.integer(0)}, query.integer(2) != 0);
    }
  }
  std::vector<Dated> children;
  for (const auto& [child, is_primary] : found) {
    if (is_primary || is_compared(child.rid, rid)) children.push_back(child);
  }
  return children;
}

void Derivation::adjust_times() {
  // A check-in's own place depends on its children: upwards from everything that changed.
  std::set<Rid> stale;
  std::vector<std::pair<Rid, int>> todo;
  for (const Rid rid : stale_times_) todo.emplace_back(rid, 0);
  stale_times_.clear();
  while (!todo.empty()) {
    const auto [rid, height] = todo.back();
    todo.pop_back();
    const std::optional<double> day = date_of(c_.database, rid);
    if (!day || !stale.insert(rid).second || height > kRounds) continue;
    Query parents = c_.database.query(
        "SELECT e.objid FROM (SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1"
        " UNION SELECT parentid FROM cherrypick WHERE childid=?1 AND NOT isExclude)"
        " JOIN event AS e ON e.objid=pid AND e.type='ci' WHERE e.omtime>?2");
    parents.bind(1, rid).bind(2, *day - kWindow);
    while (parents.step()) todo.emplace_back(parents.integer(0), height + 1);
  }

  for (const Rid rid : stale) {
    std::vector<Link> chain;
    Rid at = rid;
    double day = *date_of(c_.database, rid);
    while (chain.size() <= kRounds) {
      const std::vector<Dated> children = close_children(at, day);
      if (children.empty()) break;
      const Dated chosen =
          children.size() == 1
              ? children.front()
              : *std::max_element(children.begin(), children.end(),
                                  [this](const Dated& a, const Dated& b) {
                                    return a.rid != b.rid && order_.before(a.rid, b.rid);
                                  });
      chain.push_back({day, chosen.day});
      at = chosen.rid;
      day = chosen.day;
    }
    const std::optional<OwnTag> date = own_tag(c_.database, order_, rid, kTagDate);
    c_.database
        .query(
            "UPDATE event SET mtime=CASE WHEN ?3 AND julianday(?4) IS NOT omtime"
            " AND (julianday(?4) IS NOT NULL OR NOT ?5) THEN julianday(?4) ELSE ?2 END"
            " WHERE objid=?1")
        .bind(1, rid)
        .bind(2, chain.empty() ? *date_of(c_.database, rid) : settle(std::move(chain)))
        .bind(3, date ? 1 : 0)
        .bind_optional(4, date ? date->value : std::nullopt)
        .bind(5, date && date->comes_first ? 1 : 0)
        .run();
  }
}

}  // namespace quarry::repository
