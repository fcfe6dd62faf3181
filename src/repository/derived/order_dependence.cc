#include "order_dependence.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

namespace quarry::repository {

namespace {

/// Returns what children inherit from an artifact with ENTRY.
std::optional<TagEntry> passed_on(std::optional<TagEntry> entry) {
  if (!entry || entry->type != kPropagatingTag) return std::nullopt;
  entry->source = 0;
  return entry;
}

}  // namespace

/// Called before the first class is determined. Not called if all rows are equal.
void OrderDependence::prepare() {
  is_prepared_ = true;
  work_.database.execute(
      "CREATE INDEX temp.before_event_objid ON before_event(objid);"
      "CREATE INDEX temp.before_tagxref_rid ON before_tagxref(rid,tagid);"
      "CREATE INDEX temp.before_plink_cid ON before_plink(cid);"
      "CREATE INDEX temp.before_plink_pid ON before_plink(pid);"
      "CREATE INDEX temp.before_mlink_mid ON before_mlink(mid);"
      "CREATE INDEX temp.before_leaf_rid ON before_leaf(rid);"
      "CREATE INDEX temp.before_backlink_srcid ON before_backlink(srcid,srctype)");
  const std::vector<Rid> sources = work_.database.integers(
      "SELECT objid FROM event UNION SELECT srcid FROM tagxref NOT INDEXED WHERE srcid<>0");
  for (const Rid source : sources) {
    const Manifest artifact = work_.manifests.get(source);
    if (!artifact || !artifact->date) continue;
    for (const artifact::TagCard& card : artifact->tags) {
      const Rid target = card.target.empty() ? source : work_.names.find(card.target);
      const auto value = card.has_value ? std::optional(std::string(card.value)) : std::nullopt;
      cards_[{work_.names.find_tag(card.name), target}].push_back(
          {tag_type(card), source, target, value, base::julian_day(*artifact->date)});
    }
  }
  for (auto at = cards_.lower_bound({kTagParent, 0});
       at != cards_.end() && at->first.first == kTagParent; ++at) {
    const Rid child = at->first.second;
    for (const ParentList& parents : parent_lists(child)) {
      for (const std::string& parent : parents)
        other_children_[work_.names.find(parent)].insert(child);
    }
  }
}

bool OrderDependence::has(const char* sql, std::int64_t key) {
  return work_.database.has_row(sql, key);
}

/// Returns whether the recomputed table OURS has the same rows for KEY as the table FILE.
bool OrderDependence::is_same(std::string_view columns, std::string_view ours,
                              std::string_view file, std::string_view condition, std::int64_t key) {
  const auto is_beyond = [&](std::string_view table, std::string_view other) {
    return work_.database
        .query_once(fmt::format("SELECT {0},count(*) FROM {1} WHERE {3} GROUP BY {0} EXCEPT SELECT "
                                "{0},count(*) FROM {2} WHERE {3} GROUP BY {0}",
                                columns, table, other, condition),
                    key)
        .step();
  };
  return !is_beyond(ours, file) && !is_beyond(file, ours);
}

// --- parents and children ------------------------------------------------------------------------

/// Returns the lists of parents that RID can have: first the list in its manifest, then the lists
/// in tags.
std::vector<OrderDependence::ParentList> OrderDependence::parent_lists(Rid rid) {
  const Manifest manifest = work_.manifests.get(rid);
  if (!manifest) return {};
  std::vector<ParentList> lists;
  lists.emplace_back(manifest->parents.begin(), manifest->parents.end());
  const auto cards = cards_.find({kTagParent, rid});
  if (cards == cards_.end()) return lists;
  for (const TagEntry& card : cards->second) {
    if (card.type != kSingleTag || !card.value) continue;
    ParentList parents;
    for (const artifact::HashName& name : parents_in(*card.value)) parents.emplace_back(name.str());
    if (!parents.empty()) lists.push_back(std::move(parents));
  }
  return lists;
}

/// Returns the artifacts of any kind that fossil can compare with RID as if RID were their parent.
std::set<Rid> OrderDependence::possible_children(Rid rid) {
  std::set<Rid> children = other_children_[rid];
  for (const Lineage::Child& child : work_.lineage.children(rid)) children.insert(child.rid);
  for (const Rid child : work_.lineage.picked_by(rid)) children.insert(child);
  return children;
}

/// If a tag sets the parents of a check-in, the rows of the check-in can follow from the parents in
/// the tag, from the parents in the manifest, or from both. A document can be compared with a
/// check-in that it names as its previous version.
OrderClass OrderDependence::of_parents(Rid rid, bool is_of_files) {
  const Manifest manifest = work_.manifests.get(rid);
  const bool is_compared =
      has_other_parents(rid) || (is_of_files && !work_.lineage.is_check_in(rid));
  if (!manifest || !is_compared) return std::nullopt;
  bool is_possible = false;
  for (const ParentList& list : parent_lists(rid)) {
    const std::vector<std::string_view> parents(list.begin(), list.end());
    work_.database.execute("SAVEPOINT parents");
    if (is_of_files) {
      file_links_.write_mlinks(rid, parents);
      is_possible |=
          is_same("fnid,fid,pmid,pid,pfnid,mperm,isaux", "mlink", "before_mlink", "mid=?1", rid);
    } else {
      work_.lineage.unlink(rid);
      for (const auto& added : {parents, manifest->parents}) {
        checkin_links_.link_parents(rid, *manifest, added);
        is_possible |= is_same("pid,isprim,mtime,baseid", "plink", "before_plink", "cid=?1", rid);
      }
    }
    work_.database.execute("ROLLBACK TO parents; RELEASE parents");
    work_.names.forget_all();
  }
  return is_possible ? OrderClass(kUnusualParents) : std::nullopt;
}

// --- tags ----------------------------------------------------------------------------------------

std::optional<TagEntry> OrderDependence::tag_in_file(std::int64_t tag, Rid rid) {
  Query query = work_.database.query(
      "SELECT tagtype,srcid,origid,value,mtime FROM before_tagxref WHERE rid=?1 AND tagid=?2", rid,
      tag);
  if (!query.step()) return std::nullopt;
  return TagEntry{static_cast<int>(query.integer(0)), query.integer(1), query.integer(2),
                  query.is_null(3) ? std::nullopt : std::optional(std::string(query.text(3))),
                  query.real(4)};
}

Rid OrderDependence::parent_in_file(Rid rid) {
  return work_.database.first_integer("SELECT pid FROM before_plink WHERE cid=?1 AND isprim", rid);
}

/// Returns the cards that set TAG on RID. The name of a page, technote or ticket counts as a card.
std::vector<TagEntry> OrderDependence::own_cards(std::int64_t tag, Rid rid) {
  const auto found = cards_.find({tag, rid});
  std::vector<TagEntry> cards = found == cards_.end() ? std::vector<TagEntry>() : found->second;
  const std::optional<TagEntry> ours = work_.tags.get(tag, rid);
  if (ours && ours->source != 0 && std::ranges::find(cards, *ours) == cards.end()) {
    cards.push_back(*ours);
  }
  return cards;
}

/// Returns the entries for TAG that RID can inherit, at least temporarily.
std::vector<TagEntry> OrderDependence::inheritable(std::int64_t tag, Rid rid) {
  std::vector<TagEntry> found;
  std::set<Rid> seen{rid};
  std::vector<Rid> todo{rid};
  while (!todo.empty()) {
    const Rid at = todo.back();
    todo.pop_back();
    std::vector<Rid> parents{work_.lineage.primary_parent(at)};
    if (has_other_parents(at)) {
      for (const ParentList& list : parent_lists(at)) {
        if (!list.empty()) parents.push_back(work_.names.find(list.front()));
      }
    }
    for (const Rid parent : parents) {
      if (parent == 0 || !seen.insert(parent).second) continue;
      todo.push_back(parent);
      for (const TagEntry& card : own_cards(tag, parent)) {
        if (const auto inherited = passed_on(card)) found.push_back(*inherited);
      }
    }
  }
  return found;
}

/// Returns the class of TAG on RID. The class of TAG on the parent of RID must already be known.
///
/// If RID does not have a card for TAG, its entry is always the entry that its parent passes on.
/// Otherwise, the latest card of RID takes effect. There is one exception: an inherited entry that
/// is not older than this card can be processed before the cards of RID. In this case, an older
/// card or no card of RID takes effect.
OrderClass OrderDependence::of_one_tag(std::int64_t tag, Rid rid) {
  const std::optional<TagEntry> file = tag_in_file(tag, rid);
  const std::vector<TagEntry> cards = own_cards(tag, rid);
  double latest = 0;
  for (const TagEntry& card : cards) latest = std::max(latest, card.day);
  const auto is_overtaken = [&] {
    return std::ranges::any_of(inheritable(tag, rid),
                               [&](const TagEntry& entry) { return entry.day >= latest; });
  };
  if (file && file->source != 0) {
    if (std::ranges::find(cards, *file) == cards.end()) return std::nullopt;
    if (file->day == latest) return kEqualTimes;
    return is_overtaken() ? OrderClass(kOlderControl) : std::nullopt;
  }
  const Rid parent = parent_in_file(rid);
  if (file != passed_on(tag_in_file(tag, parent))) {
    // The entry differs from the entry that the parent passes on. This is possible only if a tag
    // has set the parents of RID: fossil's rebuild then keeps entries that RID inherited from other
    // parents.
    const std::vector<TagEntry> possible = inheritable(tag, rid);
    const bool is_kept = !file || std::ranges::find(possible, *file) != possible.end();
    if (!has_other_parents(rid) || !is_kept) return std::nullopt;
  }
  if (!cards.empty()) return is_overtaken() ? OrderClass(kOlderControl) : std::nullopt;
  return has_other_parents(rid) ? OrderClass(kUnusualParents) : tag_classes_[{tag, parent}];
}

/// Returns the class of TAG on RID. Returns nullopt if the entry in the file equals the recomputed
/// entry, or if no order results in the entry in the file.
OrderClass OrderDependence::of_tag(std::int64_t tag, Rid rid) {
  std::vector<Rid> unknown;  // from RID upwards
  std::set<Rid> seen;        // because a tag can make a check-in its own ancestor
  for (Rid at = rid; at != 0 && !tag_classes_.contains({tag, at}) && seen.insert(at).second;) {
    if (tag_in_file(tag, at) == work_.tags.get(tag, at)) {
      tag_classes_[{tag, at}] = std::nullopt;
      break;
    }
    unknown.push_back(at);
    at = parent_in_file(at);
  }
  for (const Rid at : unknown | std::views::reverse) {
    tag_classes_[{tag, at}] = of_one_tag(tag, at);
  }
  return tag_classes_[{tag, rid}];
}

std::string OrderDependence::branch_in_file(Rid rid) {
  const std::optional<TagEntry> branch = tag_in_file(kTagBranch, rid);
  return branch && branch->value ? *branch->value : "trunk";
}

/// The branches of an artifact and of its children determine whether the artifact is a leaf. Fossil
/// checks this only when one of these branches changes, so an artifact without a branch can be
/// missing from the table. A child whose parents were set by a tag might or might not count.
OrderClass OrderDependence::of_leaf(Rid rid) {
  const std::string branch = branch_in_file(rid);
  std::set<Rid> children = other_children_[rid];
  for (const Rid child :
       work_.database.integers("SELECT cid FROM before_plink WHERE pid=?1", rid)) {
    children.insert(child);
  }
  OrderClass found = of_tag(kTagBranch, rid);
  bool has_child = false, may_have_child = false;
  for (const Rid child : children) {
    if (!found) found = of_tag(kTagBranch, child);
    if (has_other_parents(child)) found = kUnusualParents;
    if (branch_in_file(child) != branch) continue;
    (has_other_parents(child) ? may_have_child : has_child) = true;
  }
  const bool is_leaf = has("SELECT 1 FROM before_leaf WHERE rid=?1", rid);
  const bool has_branch = tag_in_file(kTagBranch, rid).has_value();
  if (is_leaf ? has_child : has_branch && !has_child && !may_have_child) return std::nullopt;
  return found ? found : OrderClass(kNoBranch);
}

OrderClass OrderDependence::class_of(std::string_view table,
                                     std::pair<std::int64_t, std::int64_t> key) {
  if (!is_prepared_) prepare();
  const auto [first, second] = key;
  if (table == "event") return of_event(first);
  if (table == "tagxref") return of_tag(second, first);
  if (table == "plink") return of_parents(first, false);
  if (table == "mlink") return of_parents(first, true);
  if (table == "leaf") return of_leaf(first);
  if (table == "backlink") return of_backlink(second, first);
  if (table == "ticket" || table == "ticketchng") return of_ticket(first);
  return std::nullopt;
}

}  // namespace quarry::repository
