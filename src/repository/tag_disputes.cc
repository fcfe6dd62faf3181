// Tags where the order in which a rebuild looks at artifacts counts. It drops a card that meets
// something inherited which is not older: the amendment of a check-in, when an ancestor's later one
// is looked at before it. So tags.cc, where an entry of its own always wins, is right unless
//
//   a card C on an ancestor is not older than a card S on a descendant,
//   and S is another artifact's (the check-in itself brings its own before it inherits).
//
// Whoever completes such a pair makes the tag disputed: C, S, or a check-in that comes between them
// late. A disputed tag is computed anew, over the whole history, from all cards that there are.
// Where a card has been overruled so, which no row tells, the tag is noted in fx_quarry_overruled,
// a table that fossil's rebuild keeps: there every new card is a dispute, and every check-in that
// comes late or is looked at later than before, as the card may count then.

#include <algorithm>
#include <map>
#include <optional>

#include "derivation.h"
#include "tag_replay.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;
using artifact::TagCard;

namespace {

/// So many late check-ins, and computing anew is quicker than looking below each.
constexpr std::size_t kManyLate = 64;

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

void note_overruled(Database& database, std::int64_t tag, bool overruled) {
  if (overruled) {
    database.execute(
        "CREATE TABLE IF NOT EXISTS fx_quarry_overruled(tagname TEXT PRIMARY KEY) WITHOUT ROWID");
  } else if (!database.has_table("fx_quarry_overruled")) {
    return;
  }
  database
      .query(overruled ? "INSERT OR IGNORE INTO fx_quarry_overruled"
                         " SELECT tagname FROM tag WHERE tagid=?1"
                       : "DELETE FROM fx_quarry_overruled"
                         " WHERE tagname=(SELECT tagname FROM tag WHERE tagid=?1)")
      .bind(1, tag)
      .run();
}

bool descends(Database& database, Rid rid, Rid ancestor) {
  Query parent =
      database.query("SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND isprim");
  std::set<Rid> seen;  // a tag may have made a check-in its own ancestor
  while (seen.insert(rid).second && parent.bind(1, rid).step()) {
    rid = parent.integer(0);
    parent.rewind();
    if (rid == ancestor) return true;
  }
  return false;
}

/// Whether an ancestor of RID has a card that is not older than one of DAY on RID.
bool has_later_above(Database& database, std::int64_t tag, Rid rid, double day) {
  Query later = database.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1"
      " WHERE tagid=?1 AND mtime>=?2 AND srcid<>0 AND rid<>?3");
  later.bind(1, tag).bind(2, day).bind(3, rid);
  while (later.step()) {
    if (descends(database, rid, later.integer(0))) return true;
  }
  return false;
}

/// Whether a descendant has a card that is not later than CARD, and looked at after it.
bool has_earlier_below(Database& database, RebuildOrder& order, std::int64_t tag,
                       const TagEntry& card) {
  const bool is_whole =
      !database.query("SELECT 1 FROM delta WHERE rid=?1").bind(1, card.source).step();
  Query earlier = database.query(
      "SELECT rid, srcid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime<=?2"
      " AND srcid<>0 AND srcid<>rid AND rid<>?3"
      " AND (srcid>?4 OR srcid IN (SELECT rid FROM delta))");
  earlier.bind(1, tag).bind(2, card.day).bind(3, card.origin).bind(4, is_whole ? card.source : 0);
  while (earlier.step()) {
    if (order.before(card.source, earlier.integer(1)) &&
        descends(database, earlier.integer(0), card.origin)) {
      return true;
    }
  }
  return false;
}

/// What happens to a tag when one artifact is looked at.
struct Step {
  Rid child = 0;  // comes, with the cards on itself, and takes what PARENT has
  Rid parent = 0;
  std::vector<TagEntry> cards;
  std::vector<std::pair<Rid, Rid>> relinked;  // by tags `parent`
};

}  // namespace

/// All that decides over disputed tags, read once for all of them.
class Derivation::Dispute {
 public:
  Dispute(Derivation& derivation, const std::set<std::int64_t>& tags) : d_(derivation) {
    for (const std::int64_t tag : tags) cards_[tag];
    read_cards();
    read_links();
  }
  void settle();

 private:
  void read_cards();
  void read_links();
  void add_cards(Rid source, const Structural& artifact, bool on_itself);
  bool is_waiting(Rid rid);
  std::map<RebuildOrder::Place, Step> steps_of(std::int64_t tag);
  void write(std::int64_t tag, const std::unordered_map<Rid, TagEntry>& entries);

  Derivation& d_;
  std::map<std::int64_t, std::vector<TagEntry>> cards_;
  struct Link {
    Rid child, parent;
  };
  std::vector<Link> links_;
  std::vector<std::pair<Rid, Link>> relinks_;  // with the artifact that has the tag `parent`
};

void Derivation::Dispute::add_cards(Rid source, const Structural& artifact, bool on_itself) {
  for (const TagCard& card : artifact.tags) {
    if (card.target.empty() != on_itself) continue;
    const auto wanted = cards_.find(d_.c_.names.find_tag(card.name));
    if (wanted == cards_.end()) continue;
    const Rid target = on_itself ? source : d_.c_.names.find(card.target);
    if (target == 0) continue;
    wanted->second.push_back(
        {tag_type(card), source, target,
         card.has_value ? std::optional(std::string(card.value)) : std::nullopt,
         base::julian_day(*artifact.date)});
  }
}

bool Derivation::Dispute::is_waiting(Rid rid) {
  return d_.c_.database.query("SELECT 1 FROM orphan WHERE rid=?1").bind(1, rid).step();
}

void Derivation::Dispute::read_cards() {
  Database& database = d_.c_.database;
  std::set<Rid> sources;
  {
    Query controls = database.query("SELECT objid FROM event WHERE type='g'");
    while (controls.step()) sources.insert(controls.integer(0));
  }
  for (const auto& [tag, cards] : cards_) {
    Query query = database.query(
        "SELECT DISTINCT srcid FROM tagxref INDEXED BY tagxref_i1"
        " WHERE tagid=?1 AND srcid<>0 AND srcid<>rid");
    query.bind(1, tag);
    while (query.step()) sources.insert(query.integer(0));
  }
  for (const Rid source : sources) {
    const Manifest artifact = d_.c_.manifests.get(source);
    if (artifact && artifact->date) add_cards(source, *artifact, false);
  }
  // What these have replaced among the cards of the artifacts themselves shows in their text alone.
  std::set<Rid> targets;
  for (const auto& [tag, cards] : cards_) {
    for (const TagEntry& card : cards) targets.insert(card.origin);
  }
  for (const Rid target : targets) {
    const Manifest artifact = d_.c_.manifests.get(target);
    if (artifact && artifact->date && !is_waiting(target)) add_cards(target, *artifact, true);
  }
  for (auto& [tag, cards] : cards_) {
    Query own = database.query(
        "SELECT rid, tagtype, value, mtime FROM tagxref INDEXED BY tagxref_i1"
        " WHERE tagid=?1 AND srcid=rid");
    own.bind(1, tag);
    while (own.step()) {
      const Rid rid = own.integer(0);
      if (targets.contains(rid)) continue;
      const auto value = own.is_null(2) ? std::nullopt : std::optional(std::string(own.text(2)));
      cards.push_back({static_cast<int>(own.integer(1)), rid, rid, value, own.real(3)});
    }
  }
}

void Derivation::Dispute::read_links() {
  Database& database = d_.c_.database;
  std::unordered_map<Rid, Rid> parents;
  {
    Query query = database.query("SELECT cid, pid FROM plink WHERE isprim");
    while (query.step()) parents[query.integer(0)] = query.integer(1);
  }
  Query moved = database.query(
      "SELECT rid, srcid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND tagtype=1");
  moved.bind(1, kTagParent);
  while (moved.step()) {
    const Rid rid = moved.integer(0);
    const Manifest manifest = d_.c_.manifests.get(rid);
    const auto now = parents.find(rid);
    if (now == parents.end() || !manifest || d_.parents_by_tag(rid).empty()) continue;
    relinks_.push_back({moved.integer(1), {rid, now->second}});
    now->second = manifest->parents.empty() ? 0 : d_.c_.names.find(manifest->parents.front());
  }
  for (const auto& [child, parent] : parents) links_.push_back({child, parent});
}

std::map<RebuildOrder::Place, Step> Derivation::Dispute::steps_of(std::int64_t tag) {
  std::map<RebuildOrder::Place, Step> steps;
  for (const auto& [child, parent] : links_) {
    Step& step = steps[d_.order_.place(child)];
    step.child = child;
    step.parent = parent;
  }
  for (const auto& [source, link] : relinks_) {
    steps[d_.order_.place(source)].relinked.emplace_back(link.child, link.parent);
  }
  for (const TagEntry& card : cards_[tag])
    steps[d_.order_.place(card.source)].cards.push_back(card);
  return steps;
}

void Derivation::Dispute::write(std::int64_t tag,
                                const std::unordered_map<Rid, TagEntry>& entries) {
  Database& database = d_.c_.database;
  std::vector<Rid> present;
  {
    Query query = database.query("SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1");
    query.bind(1, tag);
    while (query.step()) present.push_back(query.integer(0));
  }
  for (const Rid rid : present) {
    if (entries.contains(rid)) continue;
    remove_tag_entry(database, tag, rid);
    d_.note_tag_change(tag, rid);
    if (tag == kTagComment) d_.stale_comments_.insert(rid);
  }
  for (const auto& [rid, entry] : entries) {
    if (tag_entry(database, tag, rid) == entry) continue;
    write_tag_entry(database, tag, rid, entry);
    d_.note_tag_change(tag, rid);
    if (tag == kTagComment) d_.stale_comments_.insert(rid);
  }
}

void Derivation::Dispute::settle() {
  for (const auto& [tag, cards] : cards_) {
    const bool propagates = std::ranges::any_of(
        cards, [](const TagEntry& card) { return card.type == kPropagatingTag; });
    if (!propagates) continue;
    TagReplay replay;
    for (const auto& [place, step] : steps_of(tag)) {
      // Its own cards before it is linked: they come to those that are below it already.
      for (const TagEntry& card : step.cards) replay.put(card);
      if (step.child != 0) replay.link(step.child, step.parent);
      for (const auto& [child, parent] : step.relinked) replay.relink(child, parent);
    }
    write(tag, replay.entries());
    note_overruled(d_.c_.database, tag, replay.overruled());
  }
}

void Derivation::look_for_dispute(std::int64_t tag, const TagEntry& card,
                                  const std::optional<TagEntry>& present) {
  if (is_many_ || disputed_.contains(tag)) return;
  const bool counts = !present || present->source == 0 || present->day <= card.day;
  if (is_overruled(c_.database, tag) ||
      (counts && has_later_above(c_.database, tag, card.origin, card.day)) ||
      (card.type == kPropagatingTag && has_earlier_below(c_.database, order_, tag, card))) {
    disputed_.insert(tag);
  }
}

void Derivation::note_if_late(Rid rid) {
  Query query = c_.database.query(
      "SELECT 1 WHERE EXISTS(SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1"
      "  WHERE pid=?1 AND isprim)"
      " OR EXISTS(SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1)");
  if (query.bind(1, rid).step()) late_.insert(rid);
}

void Derivation::note_put_off(Rid rid) {
  std::vector<Rid> todo{rid};
  while (!todo.empty()) {
    const Rid child = todo.back();
    todo.pop_back();
    std::optional<Rid> whole;
    for (const Rid parent : parents_of(child)) {
      // Only what is stored whole can be made a delta. Above what was put off before, all is known.
      if (put_off_.contains(parent) || order_.is_delta(parent)) continue;
      if (!whole) whole = order_.whole(child);
      if (parent < *whole) continue;
      put_off_.insert(parent);
      for (const Rid moved : order_.made_from(parent)) {
        late_.insert(moved);
        stale_times_.insert(moved);  // its parents' times are by the child that is looked at last
        note_earlier_tags(moved);
        note_documents_below(moved);
        note_moved_document(moved);
        todo.push_back(moved);
      }
    }
  }
}

/// The cards on RID and below it have got ancestors.
void Derivation::look_for_disputes_below(Rid rid, std::set<Rid>& seen) {
  std::vector<Rid> todo{rid};
  while (!todo.empty()) {
    const Rid at = todo.back();
    todo.pop_back();
    if (!seen.insert(at).second) continue;
    Query cards = c_.database.query(
        "SELECT tagid, mtime FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
        " WHERE rid=?1 AND srcid<>0 AND srcid<>rid");
    cards.bind(1, at);
    while (cards.step()) {
      const std::int64_t tag = cards.integer(0);
      if (!disputed_.contains(tag) && has_later_above(c_.database, tag, at, cards.real(1))) {
        disputed_.insert(tag);
      }
    }
    Query children = c_.database.query(
        "SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1 AND isprim");
    children.bind(1, at);
    while (children.step()) todo.push_back(children.integer(0));
  }
}

void Derivation::settle_disputes() {
  if ((is_many_ || !late_.empty()) && c_.database.has_table("fx_quarry_overruled")) {
    Query noted =
        c_.database.query("SELECT tagid FROM tag JOIN fx_quarry_overruled USING(tagname)");
    while (noted.step()) disputed_.insert(noted.integer(0));
  }
  if (is_many_ || late_.size() > kManyLate) {
    Query query = c_.database.query(
        "SELECT tagid FROM tagxref WHERE srcid<>0 GROUP BY tagid"
        " HAVING count(*)>1 AND max(srcid<>rid)");
    while (query.step()) disputed_.insert(query.integer(0));
  } else {
    std::set<Rid> seen;
    for (const Rid rid : late_) look_for_disputes_below(rid, seen);
  }
  late_.clear();
  put_off_.clear();
  std::erase_if(disputed_, [&](std::int64_t tag) { return !can_be_disputed(c_.database, tag); });
  if (!disputed_.empty()) Dispute(*this, std::exchange(disputed_, {})).settle();
}

}  // namespace quarry::repository
