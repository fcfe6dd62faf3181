#include "order_dependence.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "derived/common/backlinks.h"
#include "derived/timeline/event_times.h"
#include "quarry/base/time.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

constexpr std::string_view kEqualTimes = "equal times";
constexpr std::string_view kOlderControl = "a control older than an ancestor's card";
constexpr std::string_view kCloseChildren = "close children";
constexpr std::string_view kEdits = "edits of comment, user or date";
constexpr std::string_view kTechnotes = "technotes";
constexpr std::string_view kAttachments = "attachments";
constexpr std::string_view kForumTitles = "forum titles";
constexpr std::string_view kTaggedDocuments = "tags on documents";
constexpr std::string_view kNoBranch = "check-ins without a branch";
constexpr std::string_view kOtherParents = "parents given by a tag";
constexpr std::string_view kUnusualParents = "parents of another kind";

}  // namespace

bool OrderDependence::has(const char* sql, std::int64_t key) {
  return database_.has_row(sql, key);
}

/// Whether two versions of the document that has TAG have the same time.
bool OrderDependence::has_equal_times(std::int64_t tag) {
  return has(
      "SELECT 1 FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1"
      " GROUP BY mtime HAVING count(*)>1",
      tag);
}

bool OrderDependence::has_other_parents(Rid rid) {
  return tags_.get(kTagParent, rid).has_value();
}

/// Whether RID has an unusual relative. For a check-in: a parent or child of another kind, or a
/// child whose primary parent is of another kind. For an artifact of another kind: a parent or
/// child that is a check-in.
bool OrderDependence::has_unusual_relatives(Rid rid) {
  const bool is_check_in = lineage_.is_check_in(rid);
  const auto is_unusual = [&](Rid relative) {
    return lineage_.is_check_in(relative) != is_check_in &&
           has("SELECT 1 FROM blob WHERE rid=?1 AND size>=0", relative);
  };
  if (std::ranges::any_of(lineage_.parents(rid), is_unusual)) return true;
  return std::ranges::any_of(lineage_.children(rid), [&](const Lineage::Child& child) {
    return is_unusual(child.rid) || is_unusual(lineage_.primary_parent(child.rid));
  });
}

/// Finds each tag that is set on an artifact by two other artifacts with the same time.
void OrderDependence::read_cards() {
  tied_.emplace();
  std::map<TaggedArtifact, std::map<double, Rid>> cards;  // time to source
  const auto add = [&](const TaggedArtifact& tagged, double day, Rid source) {
    const auto [known, is_new] = cards[tagged].try_emplace(day, source);
    if (!is_new && known->second != source) tied_->insert(tagged);
  };
  const std::vector<Rid> sources = database_.integers(
      "SELECT objid FROM event WHERE type='g'"
      " UNION SELECT srcid FROM tagxref NOT INDEXED WHERE srcid<>0 AND srcid<>rid");
  for (const Rid source : sources) {
    const Manifest control = manifests_.get(source);
    if (!control || !control->date) continue;
    for (const artifact::TagCard& card : control->tags) {
      if (card.target.empty()) continue;
      add({names_.find_tag(card.name), names_.find(card.target)}, base::julian_day(*control->date),
          source);
    }
  }
  for (auto& [tagged, times] : cards) {
    const Manifest target = manifests_.get(tagged.second);
    if (!target || !target->date) continue;
    const bool has_own = std::ranges::any_of(target->tags, [&](const artifact::TagCard& card) {
      return card.target.empty() && names_.find_tag(card.name) == tagged.first;
    });
    if (has_own && times.contains(base::julian_day(*target->date))) tied_->insert(tagged);
  }
}

/// The state of TAG on RID. ABOVE is the state on its primary parent.
OrderDependence::TagState OrderDependence::tag_state(std::int64_t tag, Rid rid,
                                                     const TagState& above) {
  TagState state = above;
  if (has_other_parents(rid)) state.row = kOtherParents;
  const std::optional<TagEntry> card = tags_.get(tag, rid);
  const bool has_card = card && card->source != 0;
  if (!tied_) read_cards();
  if (tied_->contains({tag, rid})) {
    state.row = kEqualTimes;
  } else if (has_card) {
    // The card on the artifact itself is applied before the artifact inherits tags.
    const bool is_older = card->source != rid && above.latest >= card->day;
    state.row = is_older ? OrderClass(kOlderControl) : std::nullopt;
  }
  if (has_card) state.latest = std::max(state.latest, card->day);
  return state;
}

OrderClass OrderDependence::of_tag(std::int64_t tag, Rid rid) {
  std::vector<Rid> unknown;  // from RID to its ancestors
  std::set<Rid> seen;        // a tag may have made a check-in its own ancestor
  for (Rid at = rid; at != 0 && !states_.contains({tag, at}) && seen.insert(at).second;) {
    unknown.push_back(at);
    at = lineage_.primary_parent(at);
  }
  for (const Rid at : unknown | std::views::reverse) {
    states_[{tag, at}] = tag_state(tag, at, states_[{tag, lineage_.primary_parent(at)}]);
  }
  return states_[{tag, rid}].row;
}

OrderClass OrderDependence::of_event(Rid rid, const std::set<std::string>& columns) {
  if (has_other_parents(rid)) return kOtherParents;
  if (columns.empty()) {
    const bool has_other_version =
        has("SELECT 1 FROM tagxref AS x INDEXED BY sqlite_autoindex_tagxref_1"
            " CROSS JOIN tagxref AS o INDEXED BY tagxref_i1 ON o.tagid=x.tagid"
            " WHERE x.rid=?1 AND x.srcid=x.rid AND o.srcid=o.rid AND o.rid<>x.rid AND EXISTS("
            "  SELECT 1 FROM tag WHERE tagid=x.tagid AND tagname GLOB 'event-*')",
            rid);
    return has_other_version ? OrderClass(kTechnotes) : std::nullopt;
  }
  OrderClass found;
  for (const std::string& column : columns) {
    found = lineage_.is_check_in(rid) ? of_check_in_column(column, rid)
                                      : of_document_column(column, rid);
    if (!found) return std::nullopt;
  }
  return found;
}

OrderClass OrderDependence::of_check_in_column(const std::string& column, Rid rid) {
  if (column == "bgcolor") return of_tag(kTagBgcolor, rid);
  if (column == "ecomment") return of_edit(kTagComment, rid);
  if (column == "euser") return of_edit(kTagUser, rid);
  if (column != "mtime") return std::nullopt;
  const OrderClass edit = of_edit(kTagDate, rid);
  return edit ? edit : of_time(rid);
}

/// Whether an edit is shown depends on the order if the edit was cancelled or inherited.
OrderClass OrderDependence::of_edit(PredefinedTag tag, Rid rid) {
  if (const OrderClass found = of_tag(tag, rid)) return found;
  const std::optional<TagEntry> entry = tags_.get(tag, rid);
  if (!entry) return std::nullopt;
  if (entry->source == 0 || entry->type == kCancelTag) return kEdits;
  if (tag != kTagDate) return std::nullopt;
  const bool is_date = database_.first_integer("SELECT julianday(?1) IS NOT NULL", entry->value);
  return is_date ? std::nullopt : OrderClass(kEdits);
}

std::vector<Rid> OrderDependence::close_children(Rid rid) {
  const std::optional<double> day = lineage_.check_in_day(rid);
  if (!day) return {};
  std::set<Rid> children;
  for (const Lineage::Child& child : lineage_.children(rid)) children.insert(child.rid);
  std::ranges::copy(lineage_.picked_by(rid), std::inserter(children, children.end()));
  std::vector<Rid> close;
  std::ranges::copy_if(children, std::back_inserter(close), [&](Rid child) {
    const std::optional<double> its = lineage_.check_in_day(child);
    return its && *its < *day + kCloseTimes;
  });
  return close;
}

/// The time of a check-in may be moved before that of a close child, and the child's time may be
/// moved too.
OrderClass OrderDependence::of_time(Rid rid) {
  std::set<Rid> seen;
  while (seen.insert(rid).second) {
    if (has_unusual_relatives(rid)) return kUnusualParents;
    const std::vector<Rid> close = close_children(rid);
    if (close.empty()) break;
    if (close.size() > 1) return kCloseChildren;
    rid = close.front();
  }
  return std::nullopt;
}

OrderClass OrderDependence::of_document_column(const std::string& column, Rid rid) {
  if (column == "type" || column == "comment" || column == "brief") {
    const Manifest artifact = manifests_.get(rid);
    if (!artifact) return std::nullopt;
    if (artifact->type == StructuralType::kForumPost) return of_title(rid, *artifact);
    const auto has_version = [&](std::string_view kind, std::string_view id) {
      return has("SELECT 1 FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND srcid=rid",
                 names_.find_tag(fmt::format("{}-{}", kind, id)));
    };
    if (const auto& card = artifact->attachment) {
      const bool is_either = has_version("event", card->target) &&
                             (card->source.empty() || has_version("tkt", card->target));
      return is_either ? OrderClass(kAttachments) : std::nullopt;
    }
    const bool is_tied = artifact->type == StructuralType::kTicketChange &&
                         has_equal_times(names_.find_tag(fmt::format("tkt-{}", artifact->ticket)));
    return is_tied ? OrderClass(kEqualTimes) : std::nullopt;
  }
  if (column == "tagid" || column == "user") return std::nullopt;
  const bool is_tagged = has(
      "SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagid<=4", rid);
  if (is_tagged) return kTaggedDocuments;
  return column == "mtime" && has_unusual_relatives(rid) ? OrderClass(kUnusualParents)
                                                         : std::nullopt;
}

/// The titles of a thread's posts do not depend on the order if the root exists in exactly one
/// version and is not a reply in another thread, or if the root does not exist in any version.
OrderClass OrderDependence::of_title(Rid rid, const Structural& post) {
  const Rid root = post.thread_root.empty() ? rid : names_.find(post.thread_root);
  const std::vector<Rid> versions = database_.integers(
      "SELECT fpid FROM forumpost INDEXED BY forumthread WHERE froot=?1 AND firt IS NULL", root);
  const bool is_reply = has("SELECT 1 FROM forumpost WHERE fpid=?1 AND froot<>fpid", root);
  const bool is_lost = versions.empty() && !has("SELECT 1 FROM event WHERE objid=?1", root);
  const bool is_clear = !is_reply && (is_lost || versions == std::vector{root});
  return is_clear ? std::nullopt : OrderClass(kForumTitles);
}

/// Whether an artifact is a leaf follows from its branch and those of its children. If its own
/// branch is unknown, the result depends on when the branches of its children became known.
OrderClass OrderDependence::of_leaf(Rid rid) {
  if (const OrderClass found = of_tag(kTagBranch, rid)) return found;
  for (const Lineage::Child& child : lineage_.children(rid)) {
    if (has_other_parents(child.rid)) return kOtherParents;
    if (const OrderClass found = of_tag(kTagBranch, child.rid)) return found;
  }
  return tags_.get(kTagBranch, rid) ? std::nullopt : OrderClass(kNoBranch);
}

OrderClass OrderDependence::of_backlink(std::int64_t type, std::int64_t source) {
  if (type == static_cast<int>(BacklinkSource::kComment)) {
    if (const OrderClass found = of_tag(kTagComment, source)) return found;
    const std::optional<TagEntry> edit = tags_.get(kTagComment, source);
    return edit && edit->source != source ? OrderClass(kEdits) : std::nullopt;
  }
  std::int64_t tag = 0;
  if (type == static_cast<int>(BacklinkSource::kWiki)) tag = source;
  if (type == static_cast<int>(BacklinkSource::kTicket)) {
    const Manifest change = manifests_.get(source);
    if (change) tag = names_.find_tag(fmt::format("tkt-{}", change->ticket));
  }
  return tag != 0 && has_equal_times(tag) ? OrderClass(kEqualTimes) : std::nullopt;
}

OrderClass OrderDependence::class_of(std::string_view table,
                                     std::pair<std::int64_t, std::int64_t> key,
                                     const std::set<std::string>& columns) {
  const auto [first, second] = key;
  if (table == "event") return of_event(first, columns);
  if (table == "tagxref") return of_tag(second, first);
  if (table == "leaf") return of_leaf(first);
  if (table == "backlink") return of_backlink(second, first);
  if (table == "ticket" || table == "ticketchng") {
    return has_equal_times(first) ? OrderClass(kEqualTimes) : std::nullopt;
  }
  if (table != "mlink" && table != "plink") return std::nullopt;
  if (has_other_parents(first)) return kOtherParents;
  return table == "mlink" && has_unusual_relatives(first) ? OrderClass(kUnusualParents)
                                                          : std::nullopt;
}

}  // namespace quarry::repository
