// Disputed tags, each computed anew over the whole history, from all cards that there are: every
// artifact is looked at in the order of a rebuild.
//
// Where a card has been overruled so, which no row tells, the tag is noted in fx_quarry_overruled,
// a table that fossil's rebuild keeps: there every new card is a dispute, and every check-in that
// comes late or is looked at later than before, as the card may count then. Where it lost to a card
// of the same date, the tag is noted in fx_quarry_tied: that counts for the latter only.

#include "tag_disputes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "derived/ancestry/tag_replay.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::TagCard;

namespace {

/// What happens to a tag when one artifact is looked at, besides the cards in it.
struct Step {
  RebuildOrder::Place place;
  enum Kind { kCard, kLink, kRelink } kind;
  Rid child = 0;  // comes and takes what PARENT has; or gets PARENT by a tag
  Rid parent = 0;
  const TagEntry* card = nullptr;

  /// Its own cards before it is linked: they come to those that are below it already.
  friend bool operator<(const Step& a, const Step& b) {
    return a.place != b.place ? a.place < b.place : a.kind < b.kind;
  }
};

/// Whether there is anything that CARDS of one tag could disagree about: what is inherited, or two on
/// one artifact of the same date.
bool can_disagree(const std::vector<TagEntry>& cards) {
  if (std::ranges::find(cards, kPropagatingTag, &TagEntry::type) != cards.end()) return true;
  std::set<std::pair<Rid, double>> seen;
  return std::ranges::any_of(
      cards, [&](const TagEntry& card) { return !seen.emplace(card.origin, card.day).second; });
}

}  // namespace

/// All that decides over disputed tags, read once for all of them.
class TagDisputes::Dispute {
 public:
  Dispute(TagDisputes& disputes, const std::set<std::int64_t>& tags) : d_(disputes) {
    for (const std::int64_t tag : tags) cards_[tag];
    read_cards();
    std::erase_if(cards_, [](const auto& tag) { return !can_disagree(tag.second); });
    if (!cards_.empty()) read_links();
  }
  void settle();

 private:
  void read_cards();
  void read_links();
  void add_cards(Rid source, const Structural& artifact, bool on_itself);
  bool is_waiting(Rid rid);
  void replay(std::int64_t tag);
  void write(std::int64_t tag, const std::unordered_map<Rid, TagEntry>& entries);

  TagDisputes& d_;
  std::map<std::int64_t, std::vector<TagEntry>> cards_;
  struct Link {
    Rid child, parent;
  };
  std::vector<Step> links_;                    // in the order of a rebuild
  std::vector<std::pair<Rid, Link>> relinks_;  // with the artifact that has the tag `parent`
};

void TagDisputes::Dispute::add_cards(Rid source, const Structural& artifact, bool on_itself) {
  for (const TagCard& card : artifact.tags) {
    if (card.target.empty() != on_itself) continue;
    const auto wanted = cards_.find(d_.work_.names.find_tag(card.name));
    if (wanted == cards_.end()) continue;
    const Rid target = on_itself ? source : d_.work_.names.find(card.target);
    if (target == 0) continue;
    wanted->second.push_back(
        {tag_type(card), source, target,
         card.has_value ? std::optional(std::string(card.value)) : std::nullopt,
         base::julian_day(*artifact.date)});
  }
}

bool TagDisputes::Dispute::is_waiting(Rid rid) {
  return d_.work_.database.query("SELECT 1 FROM orphan WHERE rid=?1").bind(1, rid).step();
}

void TagDisputes::Dispute::read_cards() {
  Database& database = d_.work_.database;
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
    const Manifest artifact = d_.work_.manifests.get(source);
    if (artifact && artifact->date) add_cards(source, *artifact, false);
  }
  // What these have replaced among the cards of the artifacts themselves shows in their text alone.
  std::set<Rid> targets;
  for (const auto& [tag, cards] : cards_) {
    for (const TagEntry& card : cards) targets.insert(card.origin);
  }
  for (const Rid target : targets) {
    const Manifest artifact = d_.work_.manifests.get(target);
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

void TagDisputes::Dispute::read_links() {
  Database& database = d_.work_.database;
  std::unordered_map<Rid, Rid> parents;
  for (const ParentLink& link : d_.work_.lineage.primary_links()) parents[link.child] = link.parent;
  Query moved = database.query(
      "SELECT rid, srcid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND tagtype=1");
  moved.bind(1, kTagParent);
  while (moved.step()) {
    const Rid rid = moved.integer(0);
    const Manifest manifest = d_.work_.manifests.get(rid);
    const auto now = parents.find(rid);
    if (now == parents.end() || !manifest || d_.reparenting_.parents_by_tag(rid).empty()) continue;
    relinks_.push_back({moved.integer(1), {rid, now->second}});
    now->second = manifest->parents.empty() ? 0 : d_.work_.names.find(manifest->parents.front());
  }
  for (const auto& [child, parent] : parents) {
    links_.push_back({d_.work_.order.place(child), Step::kLink, child, parent});
  }
  std::sort(links_.begin(), links_.end());
}

void TagDisputes::Dispute::write(std::int64_t tag,
                                 const std::unordered_map<Rid, TagEntry>& entries) {
  Database& database = d_.work_.database;
  std::vector<Rid> present;
  {
    Query query = database.query("SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1");
    query.bind(1, tag);
    while (query.step()) present.push_back(query.integer(0));
  }
  for (const Rid rid : present) {
    if (entries.contains(rid)) continue;
    d_.work_.tags.remove(tag, rid);
    d_.work_.pending.note_tag_change(tag, rid);
    if (tag == kTagComment) d_.work_.pending.stale_comments.insert(rid);
  }
  for (const auto& [rid, entry] : entries) {
    if (d_.work_.tags.get(tag, rid) == entry) continue;
    d_.work_.tags.put(tag, rid, entry);
    d_.work_.pending.note_tag_change(tag, rid);
    if (tag == kTagComment) d_.work_.pending.stale_comments.insert(rid);
  }
}

void TagDisputes::Dispute::replay(std::int64_t tag) {
  std::vector<Step> steps;
  for (const auto& [source, link] : relinks_) {
    steps.push_back({d_.work_.order.place(source), Step::kRelink, link.child, link.parent});
  }
  for (const TagEntry& card : cards_[tag]) {
    steps.push_back({d_.work_.order.place(card.source), Step::kCard, 0, 0, &card});
  }
  std::stable_sort(steps.begin(), steps.end());
  TagReplay replay;
  const auto take = [&](const Step& step) {
    if (step.kind == Step::kCard) replay.put(*step.card);
    if (step.kind == Step::kLink) replay.link(step.child, step.parent);
    if (step.kind == Step::kRelink) replay.relink(step.child, step.parent);
  };
  auto link = links_.begin();
  for (const Step& step : steps) {
    for (; link != links_.end() && *link < step; ++link) take(*link);
    take(step);
  }
  for (; link != links_.end(); ++link) take(*link);
  write(tag, replay.entries());
  d_.note_overruled(tag, replay.overruled());
  d_.note_tied(tag, replay.tied());
}

void TagDisputes::Dispute::settle() {
  for (const auto& [tag, cards] : cards_) replay(tag);
}

void TagDisputes::note_overruled(std::int64_t tag, bool is_overruled) {
  Database& database = work_.database;
  if (is_overruled) {
    database.execute(
        "CREATE TABLE IF NOT EXISTS fx_quarry_overruled(tagname TEXT PRIMARY KEY) WITHOUT ROWID");
  } else if (!database.has_table("fx_quarry_overruled")) {
    return;
  }
  database
      .query(is_overruled ? "INSERT OR IGNORE INTO fx_quarry_overruled"
                            " SELECT tagname FROM tag WHERE tagid=?1"
                          : "DELETE FROM fx_quarry_overruled"
                            " WHERE tagname=(SELECT tagname FROM tag WHERE tagid=?1)")
      .bind(1, tag)
      .run();
}

void TagDisputes::note_tied(std::int64_t tag, bool is_tied) {
  Database& database = work_.database;
  if (is_tied) {
    database.execute(
        "CREATE TABLE IF NOT EXISTS fx_quarry_tied(tagname TEXT PRIMARY KEY) WITHOUT ROWID");
  } else if (!database.has_table("fx_quarry_tied")) {
    return;
  }
  database
      .query(is_tied ? "INSERT OR IGNORE INTO fx_quarry_tied"
                       " SELECT tagname FROM tag WHERE tagid=?1"
                     : "DELETE FROM fx_quarry_tied"
                       " WHERE tagname=(SELECT tagname FROM tag WHERE tagid=?1)")
      .bind(1, tag)
      .run();
}

void TagDisputes::replay_disputed() {
  Dispute(*this, std::exchange(disputed_, {})).settle();
}

}  // namespace quarry::repository
