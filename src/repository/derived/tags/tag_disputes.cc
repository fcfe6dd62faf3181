// Tags where the order in which a rebuild looks at artifacts counts. It drops a card that meets
// something inherited which is not older: the amendment of a check-in, when an ancestor's later one
// is looked at before it. So tags.cc, where an entry of its own always wins, is right unless
//
//   a card C on an ancestor is not older than a card S on a descendant,
//   and S is another artifact's (the check-in itself brings its own before it inherits),
//
// or two artifacts have cards of the same date for the same: then the first that it looks at counts.
//
// Whoever completes such a pair makes the tag disputed: C, S, or a check-in that comes between them
// late. A disputed tag is computed anew (disputed_tags.cc).

#include "tag_disputes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "derived/ancestry/descent.h"

namespace quarry::repository {

namespace {

/// From parent to child or back, in one run; after so many, looking at all tags is quicker.
constexpr std::size_t kMostSteps = 5000;

/// Tags that work in other ways, or that artifacts of other kinds put on themselves.
bool can_be_disputed(Database& database, std::int64_t tag) {
  if (tag == kTagParent || tag == kTagCluster) return false;
  Query query = database.query("SELECT tagname FROM tag WHERE tagid=?1");
  if (!query.bind(1, tag).step()) return false;
  const std::string_view name = query.text(0);
  return !name.starts_with("wiki-") && !name.starts_with("event-") && !name.starts_with("tkt-");
}

bool is_overruled(Database& database, std::int64_t tag) {
  if (!database.has_table("fx_quarry_overruled")) return false;
  Query query = database.query(
      "SELECT 1 FROM fx_quarry_overruled WHERE tagname=(SELECT tagname FROM tag WHERE tagid=?1)");
  return query.bind(1, tag).step();
}

/// Whether RID descends from ANCESTOR. Counts in STEPS; true when these have become too many.
bool descends(Lineage& lineage, Rid rid, Rid ancestor, std::size_t& steps) {
  std::set<Rid> seen;  // a tag may have made a check-in its own ancestor
  while (rid != 0 && seen.insert(rid).second) {
    rid = lineage.primary_parent(rid);
    if (rid == ancestor || ++steps > kMostSteps) return true;
  }
  return false;
}

// As descends() counts, so do these.

/// Whether an ancestor of RID has a card that is not older than one of DAY on RID.
bool has_later_above(Database& database, Lineage& lineage, std::int64_t tag, Rid rid, double day,
                     std::size_t& steps) {
  Query later = database.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1"
      " WHERE tagid=?1 AND mtime>=?2 AND srcid<>0 AND rid<>?3");
  later.bind(1, tag).bind(2, day).bind(3, rid);
  while (later.step()) {
    if (descends(lineage, rid, later.integer(0), steps)) return true;
  }
  return false;
}

/// Whether a descendant of RID has another artifact's card that is not later than one of DAY on
/// RID.
bool has_earlier_below(Database& database, Lineage& lineage, std::int64_t tag, Rid rid, double day,
                       std::size_t& steps) {
  Query earlier = database.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1"
      " WHERE tagid=?1 AND mtime<=?2 AND srcid<>0 AND srcid<>rid AND rid<>?3");
  earlier.bind(1, tag).bind(2, day).bind(3, rid);
  while (earlier.step()) {
    if (descends(lineage, earlier.integer(0), rid, steps)) return true;
  }
  return false;
}

/// Whether a descendant has a card that is not later than CARD, and looked at after it.
bool has_earlier_looked_at_later(Database& database, Lineage& lineage, RebuildOrder& order,
                                 std::int64_t tag, const TagEntry& card, std::size_t& steps) {
  const bool is_whole =
      !database.query("SELECT 1 FROM delta WHERE rid=?1").bind(1, card.source).step();
  Query earlier = database.query(
      "SELECT rid, srcid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime<=?2"
      " AND srcid<>0 AND srcid<>rid AND rid<>?3"
      " AND (srcid>?4 OR srcid IN (SELECT rid FROM delta))");
  earlier.bind(1, tag).bind(2, card.day).bind(3, card.origin).bind(4, is_whole ? card.source : 0);
  while (earlier.step()) {
    if (order.before(card.source, earlier.integer(1)) &&
        descends(lineage, earlier.integer(0), card.origin, steps)) {
      return true;
    }
  }
  return false;
}

/// Of the tags that several artifacts have a card for, not each its own: the cards.
std::map<std::int64_t, std::vector<Descent::Card>> cards_of_contested_tags(Database& database) {
  std::map<std::int64_t, std::vector<Descent::Card>> cards;
  // Most rows are inherited: along the index, each would be looked up to see that.
  Query query =
      database.query("SELECT tagid, rid, mtime, srcid=rid FROM tagxref NOT INDEXED WHERE srcid<>0");
  while (query.step()) {
    cards[query.integer(0)].push_back({query.integer(1), query.real(2), query.integer(3) != 0});
  }
  std::erase_if(cards, [](const auto& tag) {
    return tag.second.size() < 2 || std::ranges::all_of(tag.second, &Descent::Card::is_own);
  });
  return cards;
}

}  // namespace

void TagDisputes::look_for_dispute(std::int64_t tag, const TagEntry& card,
                                   const std::optional<TagEntry>& present) {
  if (work_.is_whole || looks_everywhere_ || disputed_.contains(tag))
    return;  // see settle_disputes()
  const bool counts = !present || present->source == 0 || present->day <= card.day;
  if (is_overruled(work_.database, tag) ||
      (counts && has_later_above(work_.database, work_.lineage, tag, card.origin, card.day,
                                 dispute_steps_)) ||
      (card.type == kPropagatingTag &&
       has_earlier_looked_at_later(work_.database, work_.lineage, work_.order, tag, card,
                                   dispute_steps_))) {
    disputed_.insert(tag);
  }
  looks_everywhere_ = dispute_steps_ > kMostSteps;
}

void TagDisputes::note_tie(std::int64_t tag) {
  if (can_be_disputed(work_.database, tag)) note_tied(tag, true);
}

void TagDisputes::note_if_late(Rid rid) {
  if (work_.is_whole) return;
  Query query = work_.database.query(
      "SELECT 1 WHERE EXISTS(SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1"
      "  WHERE pid=?1 AND isprim)"
      " OR EXISTS(SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1)");
  if (query.bind(1, rid).step()) work_.pending.late.insert(rid);
}

std::optional<TagDisputes::Side> TagDisputes::smaller_side(Rid rid, const std::set<Rid>& seen_above,
                                                           const std::set<Rid>& seen_below) {
  std::vector<Rid> above{rid};
  std::vector<Rid> below{rid};
  // A tag may have made a check-in its own ancestor.
  std::set<Rid> is_above{rid};
  std::set<Rid> is_below{rid};
  for (std::size_t next = 0; next < below.size(); ++next) {
    if (++dispute_steps_ > kMostSteps) return std::nullopt;
    const Rid parent = work_.lineage.primary_parent(above.back());
    if (parent == 0 || seen_above.contains(parent) || !is_above.insert(parent).second) {
      return Side{true, std::move(above)};
    }
    above.push_back(parent);
    for (const Lineage::Child child : work_.lineage.children(below[next])) {
      if (!child.is_primary || seen_below.contains(child.rid)) continue;
      if (is_below.insert(child.rid).second) below.push_back(child.rid);
    }
  }
  return Side{false, std::move(below)};
}

void TagDisputes::look_for_disputes_around(Rid late, std::set<Rid>& seen_above,
                                           std::set<Rid>& seen_below) {
  if (seen_above.contains(late) || seen_below.contains(late)) return;
  const auto side = smaller_side(late, seen_above, seen_below);
  if (!side) return;
  (side->is_above ? seen_above : seen_below).insert(side->rids.begin(), side->rids.end());
  for (const Rid rid : side->rids) {
    Query cards = work_.database.query(
        "SELECT tagid, mtime, srcid=rid FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
        " WHERE rid=?1 AND srcid<>0");
    cards.bind(1, rid);
    while (cards.step()) {
      const std::int64_t tag = cards.integer(0);
      const double day = cards.real(1);
      const bool is_own = cards.integer(2) != 0;
      if (disputed_.contains(tag)) continue;
      if (side->is_above
              ? has_earlier_below(work_.database, work_.lineage, tag, rid, day, dispute_steps_)
              : !is_own &&
                    has_later_above(work_.database, work_.lineage, tag, rid, day, dispute_steps_)) {
        disputed_.insert(tag);
      }
    }
  }
}

/// The tags of which a card on an artifact is not later than one on an ancestor.
void TagDisputes::look_for_disputes_anywhere() {
  const bool has_relinked = work_.database
                                .query(
                                    "SELECT 1 FROM tagxref INDEXED BY tagxref_i1"
                                    " WHERE tagid=?1 AND tagtype=1")
                                .bind(1, kTagParent)
                                .step();
  const auto cards = cards_of_contested_tags(work_.database);
  // A tag that gives other parents has made other ancestors than the cards may have met.
  if (cards.empty() || has_relinked) {
    for (const auto& [tag, of_tag] : cards) disputed_.insert(tag);
    return;
  }
  const Descent descent(work_.lineage.primary_links());
  for (const auto& [tag, of_tag] : cards) {
    if (descent.has_later_above(of_tag)) disputed_.insert(tag);
  }
}

void TagDisputes::look_for_noted() {
  const auto take = [&](Query noted) {
    while (noted.step()) disputed_.insert(noted.integer(0));
  };
  if (work_.database.has_table("fx_quarry_overruled")) {
    take(work_.database.query(
        "SELECT (SELECT tagid FROM tag WHERE tagname=o.tagname) FROM fx_quarry_overruled AS o"));
  }
  if (work_.database.has_table("fx_quarry_tied")) {
    take(work_.database.query(
        "SELECT (SELECT tagid FROM tag WHERE tagname=o.tagname) FROM fx_quarry_tied AS o"));
  }
}

bool TagDisputes::are_there_any() {
  look_for_noted();
  look_for_disputes_anywhere();
  std::erase_if(disputed_, [&](std::int64_t tag) { return !can_be_disputed(work_.database, tag); });
  return !disputed_.empty();
}

void TagDisputes::settle_disputes() {
  if (work_.is_whole || looks_everywhere_ || !work_.pending.late.empty()) look_for_noted();
  std::set<Rid> seen_above;
  std::set<Rid> seen_below;
  for (const Rid rid : work_.pending.late) {
    if (work_.is_whole || looks_everywhere_) break;
    look_for_disputes_around(rid, seen_above, seen_below);
    looks_everywhere_ = dispute_steps_ > kMostSteps;
  }
  if (work_.is_whole || looks_everywhere_) look_for_disputes_anywhere();
  std::erase_if(disputed_, [&](std::int64_t tag) { return !can_be_disputed(work_.database, tag); });
  if (!disputed_.empty()) replay_disputed();
}

}  // namespace quarry::repository
