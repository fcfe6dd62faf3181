// The classes of rows of the timeline, of links and of tickets (order_dependence.h).

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "derived/documents/forum.h"
#include "derived/timeline/event_times.h"
#include "derived_rows.h"
#include "markup/text_links.h"
#include "order_dependence.h"
#include "tickets/ticket_fields.h"

namespace quarry::repository {

using artifact::StructuralType;

namespace {

// Maximum number of orders of a ticket's changes that are tried. If a ticket has more possible
// orders, its rows are accepted without checking further orders.
constexpr int kMostTicketOrders = 120;

std::optional<double> julian_day_in(Database& database, const std::optional<std::string>& text) {
  Query query = database.query("SELECT julianday(?1)", text);
  return query.step() && !query.is_null(0) ? std::optional(query.real(0)) : std::nullopt;
}

}  // namespace

std::optional<OrderDependence::TimelineRow> OrderDependence::event(const char* table, Rid rid) {
  Query query = work_.database.query_once(
      fmt::format("SELECT type,coalesce(tagid,0),mtime,omtime,user,comment,brief,euser,ecomment,"
                  "bgcolor FROM {} WHERE objid=?1",
                  table),
      rid);
  if (!query.step()) return std::nullopt;
  const auto text = [&](int column) {
    return query.is_null(column) ? std::nullopt : std::optional(std::string(query.text(column)));
  };
  const auto real = [&](int column) {
    return query.is_null(column) ? std::nullopt : std::optional(query.real(column));
  };
  return TimelineRow{std::string(query.text(0)),
                     query.integer(1),
                     real(2),
                     real(3),
                     text(4),
                     text(5),
                     text(6),
                     text(7),
                     text(8),
                     text(9)};
}

/// If RID is a version of a technote, returns its timeline row without the effects of tags. Otherwise
/// returns nullopt.
std::optional<OrderDependence::TimelineRow> OrderDependence::expected_technote(Rid rid) {
  const Manifest note = work_.manifests.get(rid);
  if (!note || note->type != StructuralType::kTechnote) return std::nullopt;
  TimelineRow row{};
  row.type = "e";
  row.tag = work_.names.find_tag(fmt::format("event-{}", note->technote_id));
  row.mtime = printed_day(work_.database, *note->technote_date);
  if (note->has_user) row.user = note->user;
  if (note->has_comment) row.comment = note->comment;
  return row;
}

/// The row of RID can be missing if RID is a version of a technote, and a newer or equally old
/// version has a row.
OrderClass OrderDependence::of_missing_technote(Rid rid) {
  const auto note = expected_technote(rid);
  const bool has_later =
      note && work_.database.has_row(
                  "SELECT 1 FROM tagxref AS x INDEXED BY sqlite_autoindex_tagxref_1"
                  " CROSS JOIN tagxref AS o INDEXED BY tagxref_i1"
                  "  ON o.tagid=x.tagid AND o.mtime>=x.mtime"
                  " CROSS JOIN before_event AS e ON e.objid=o.rid"
                  " WHERE x.rid=?1 AND x.tagid=?2 AND o.rid<>x.rid AND e.type='e'",
                  rid, note->tag);
  return has_later ? OrderClass(kTechnotes) : std::nullopt;
}

/// Returns whether the event of the check-in RID can be missing. If a tag sets the parents of RID,
/// fossil's rebuild might process this tag before it processes RID. RID then already has rows for
/// its files, and fossil does not add its event or the links of its comment.
bool OrderDependence::may_lack_event(Rid rid) {
  return parent_lists(rid).size() > 1 && work_.lineage.is_check_in(rid) &&
         has("SELECT 1 FROM before_mlink WHERE mid=?1", rid) &&
         (!own_cards(kTagComment, rid).empty() ||
          !has("SELECT 1 FROM before_backlink WHERE srcid=?1 AND srctype=0", rid));
}

OrderClass OrderDependence::of_event(Rid rid) {
  const auto file = event("before_event", rid);
  auto ours = event("event", rid);
  if (!file) {
    if (may_lack_event(rid)) return kUnusualParents;
    return of_missing_technote(rid);
  }
  OrderClass found;
  if (!ours) {
    ours = expected_technote(rid);
    found = kTechnotes;
  }
  if (!ours || file->user != ours->user || file->tag != ours->tag) return std::nullopt;
  if (std::tie(file->type, file->comment, file->brief) !=
      std::tie(ours->type, ours->comment, ours->brief)) {
    found = of_text(rid, *file, *ours);
    if (!found) return std::nullopt;
  }
  for (const auto& [tag, value, other] : {std::tuple(kTagBgcolor, file->bgcolor, ours->bgcolor),
                                          std::tuple(kTagComment, file->ecomment, ours->ecomment),
                                          std::tuple(kTagUser, file->euser, ours->euser)}) {
    if (value == other) continue;
    found = of_edit(tag, rid, value);
    if (!found) return std::nullopt;
  }
  if (file->mtime == ours->mtime && file->omtime == ours->omtime) return found;
  if (work_.lineage.is_check_in(rid) && file->omtime != ours->omtime) return std::nullopt;
  return of_time(rid, *file);
}

OrderClass OrderDependence::of_text(Rid rid, const TimelineRow& file, const TimelineRow& ours) {
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact) return std::nullopt;
  if (artifact->type == StructuralType::kForumPost) return of_title(rid, file, ours);
  if (artifact->type == StructuralType::kTicketChange && file.type == "t") {
    return of_ticket(work_.names.find_tag(fmt::format("tkt-{}", artifact->ticket)));
  }
  if (!artifact->attachment || file.brief != ours.brief) return std::nullopt;
  const auto events = attachments_.possible_events(rid, *artifact->attachment, false);
  const bool is_possible = std::ranges::any_of(events, [&](const auto& each) {
    return file.type == std::string_view(&each.type, 1) && file.comment == each.comment;
  });
  return is_possible ? OrderClass(kAttachments) : std::nullopt;
}

/// The timeline shows a post with the title of its thread, or of a thread that contains this thread.
/// Any version of that thread's first post can supply the title. If the root of the thread is not a
/// post, the title can also be the text after the colon in the root's comment.
OrderClass OrderDependence::of_title(Rid rid, const TimelineRow& file, const TimelineRow& ours) {
  if (file.type != ours.type || file.brief != ours.brief || !file.comment || !ours.comment) {
    return std::nullopt;
  }
  const std::string kind = ours.comment->substr(0, ours.comment->find(": ") + 2);
  if (!file.comment->starts_with(kind)) return std::nullopt;
  const std::string title = file.comment->substr(kind.size());
  if (title == kUnknownTitle) return kForumTitles;
  Rid thread = rid;
  for (std::set<Rid> seen; seen.insert(thread).second;) {
    const Rid root =
        work_.database.first_integer("SELECT froot FROM forumpost WHERE fpid=?1", thread);
    if (root == 0) break;
    thread = root;
    const std::vector<Rid> versions = work_.database.integers(
        "SELECT fpid FROM forumpost INDEXED BY forumthread WHERE froot=?1 AND firt IS NULL", root);
    for (const Rid version : versions) {
      const Manifest post = work_.manifests.get(version);
      if (!post) continue;
      if (title == (post->thread_title.empty() ? kNoTitle : post->thread_title))
        return kForumTitles;
    }
  }
  bool is_comment = work_.database.has_row(
      "SELECT 1 FROM before_event WHERE objid=?1 AND type<>'f'"
      " AND substr(comment,instr(comment,':')+2)=?2",
      thread, title);
  const Manifest root = work_.manifests.get(thread);
  if (root && root->attachment) {
    const auto events = attachments_.possible_events(thread, *root->attachment, true);
    is_comment |= std::ranges::any_of(events, [&](const auto& each) {
      return title == each.comment.substr(each.comment.find(':') == std::string::npos
                                              ? 1
                                              : each.comment.find(':') + 2);
    });
  }
  return is_comment ? OrderClass(kForumTitles) : std::nullopt;
}

/// Returns the class of a row whose column for TAG contains VALUE, or nullopt if the file's entry
/// for TAG does not explain VALUE. A card that is processed before a document does not change the
/// document's row. The row of a check-in can still have the value of a cancelled card.
OrderClass OrderDependence::of_edit(PredefinedTag tag, Rid rid,
                                    const std::optional<std::string>& value) {
  const std::optional<TagEntry> entry = tag_in_file(tag, rid);
  const bool is_document = !work_.lineage.is_check_in(rid);
  const bool is_colour = tag == kTagBgcolor;
  const bool applies = entry && (entry->source != 0 || is_colour);
  const bool is_cancelled = entry && entry->type == kCancelTag;
  bool is_possible = !value && (!applies || is_document || is_cancelled);
  is_possible |= applies && value == entry->value && (!is_cancelled || is_document == is_colour);
  // The row of a check-in can also contain a value that the check-in inherited before the row was
  // added. The entry can have changed since then: a tag that sets the parents of RID replaces it.
  const bool is_inherited = !is_document && (!entry || entry->source == 0);
  if (!is_possible && (is_inherited || has_other_parents(rid))) {
    is_possible = std::ranges::any_of(inheritable(tag, rid),
                                      [&](const TagEntry& card) { return card.value == value; });
  }
  if (!is_possible) return std::nullopt;
  const OrderClass found = of_tag(tag, rid);
  return found ? found : OrderClass(kEdits);
}

/// FILE is the row of RID in the file. Its time must be the time in a date card of RID. If the date
/// cards might not have taken effect, any time that may_be_moved_to() accepts is also allowed.
OrderClass OrderDependence::of_time(Rid rid, const TimelineRow& file) {
  const std::optional<TagEntry> entry = tag_in_file(kTagDate, rid);
  const bool is_document = !work_.lineage.is_check_in(rid);
  const bool is_own = entry && entry->source != 0;
  const bool is_cancelled = is_own && entry->type == kCancelTag;
  std::optional<double> date;
  if (is_own) date = julian_day_in(work_.database, entry->value);
  bool is_set = is_own && (file.mtime == date || (is_cancelled && !file.mtime));
  if (is_document && (!file.omtime || !may_be_moved_to(rid, *file.omtime))) {
    if (file.omtime) return std::nullopt;
    is_set = false;
  }
  const bool is_inherited = !is_document && !is_own;
  if (!is_set && (is_inherited || has_other_parents(rid))) {
    is_set = std::ranges::any_of(inheritable(kTagDate, rid), [&](const TagEntry& card) {
      return file.mtime == julian_day_in(work_.database, card.value);
    });
  }
  const bool may_be_unset = is_document || !is_own || is_cancelled || !date || *date == day_of(rid);
  const bool is_moved = may_be_unset && file.mtime && may_be_moved_to(rid, *file.mtime);
  if (!is_set && !is_moved) return std::nullopt;
  if (const OrderClass found = of_tag(kTagDate, rid)) return found;
  return is_own || is_set ? kEdits : kCloseChildren;
}

std::optional<double> OrderDependence::day_of(Rid rid) {
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact || !artifact->date) return std::nullopt;
  return printed_day(work_.database, *artifact->date);
}

/// Returns the possible children of RID whose time can move the time of RID.
std::vector<Dated> OrderDependence::close_children(Rid rid, double day) {
  std::vector<Dated> close;
  for (const Rid child : possible_children(rid)) {
    const std::optional<double> its = day_of(child);
    if (its && *its < day + kCloseTimes) close.push_back({*its, child});
  }
  return close;
}

/// Returns whether RID can be shown at TIME (event_times.cc). TIME must be the time of RID, or a
/// number of steps before the time of a close descendant. The number of steps must be at least the
/// number of generations from RID to this descendant.
bool OrderDependence::may_be_moved_to(Rid rid, double time) {
  constexpr double kTolerance = 0.15;  // in steps; allows for rounding errors
  const Manifest artifact = work_.manifests.get(rid);
  const std::optional<double> own = day_of(rid);
  if (!own) return false;
  if (artifact->technote_date && time == printed_day(work_.database, *artifact->technote_date)) {
    return true;
  }
  std::vector<Dated> parents{{*own, rid}};
  if (time >= *own) return time == *own;
  std::set<Rid> seen{rid};
  for (int generation = 1; generation <= kTimeRounds && !parents.empty(); ++generation) {
    std::vector<Dated> next;
    for (const Dated& parent : parents) {
      for (const Dated& child : close_children(parent.rid, parent.day)) {
        if (child.day <= parent.day - kCloseTimes || !seen.insert(child.rid).second) continue;
        const double steps = (child.day - time) / kTimeStep;
        const double whole = std::round(steps);
        if (std::abs(steps - whole) < kTolerance && whole >= generation && whole <= kTimeRounds) {
          return true;
        }
        next.push_back(child);
      }
    }
    parents = std::move(next);
  }
  return false;
}

// --- links and tickets ---------------------------------------------------------------------------

/// Returns the comments that can determine the links of RID: the comment of RID, and the comment of
/// each edit. An edit is returned twice: with the time of RID, and with the time of the edit.
std::vector<OrderDependence::LinkedText> OrderDependence::comments(Rid rid) {
  const Manifest artifact = work_.manifests.get(rid);
  if (!artifact || !artifact->date) return {};
  const double day = *day_of(rid);
  std::vector<LinkedText> found;
  const bool is_left_out = may_lack_event(rid) && !event("before_event", rid);
  if (work_.lineage.is_check_in(rid) && !is_left_out)
    found.emplace_back(artifact->comment, Markup::kWiki, day);
  std::vector<TagEntry> edits = own_cards(kTagComment, rid);
  if (has_other_parents(rid))
    std::ranges::copy(inheritable(kTagComment, rid), std::back_inserter(edits));
  for (const TagEntry& edit : edits) {
    for (const double time : {day, printed_day(work_.database, edit.day)})
      found.emplace_back(edit.value.value_or(""), Markup::kWiki, time);
  }
  if (is_left_out || !edits.empty()) found.emplace_back("", Markup::kWiki, day);
  return found;
}

OrderClass OrderDependence::of_backlink(std::int64_t type, std::int64_t source) {
  const bool is_comment = type == static_cast<int>(BacklinkSource::kComment);
  std::vector<LinkedText> texts;
  if (is_comment) texts = comments(source);
  if (type == static_cast<int>(BacklinkSource::kTicket)) {
    const Manifest change = work_.manifests.get(source);
    if (!change || change->type != StructuralType::kTicketChange) return std::nullopt;
    return of_ticket(work_.names.find_tag(fmt::format("tkt-{}", change->ticket)));
  }
  if (type == static_cast<int>(BacklinkSource::kWiki)) {
    const std::vector<Rid> latest = work_.database.integers(
        "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime="
        "(SELECT max(mtime) FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1)",
        source);
    for (const Rid version : latest) {
      const Manifest page = work_.manifests.get(version);
      if (!page || page->type != StructuralType::kWiki) continue;
      const auto mimetype = page->mimetype.empty() ? std::nullopt : std::optional(page->mimetype);
      texts.emplace_back(page->text, markup_of(mimetype), *day_of(version));
    }
  }
  using Links = std::set<std::pair<std::string, double>>;  // target and time
  Links file;
  Query rows = work_.database.query(
      "SELECT target, mtime FROM before_backlink WHERE srcid=?1 AND srctype=?2", source, type);
  while (rows.step()) file.emplace(rows.text(0), rows.real(1));
  const bool is_possible = std::ranges::any_of(texts, [&](const LinkedText& each) {
    const auto& [text, markup, day] = each;
    Links links;
    for (std::string& target : text_links(text, markup)) links.emplace(std::move(target), day);
    return links == file;
  });
  if (!is_possible) return std::nullopt;
  if (!is_comment) return kEqualTimes;
  const OrderClass found = of_tag(kTagComment, source);
  return found ? found : OrderClass(kEdits);
}

/// Returns whether all rows of the ticket with TAG now equal the rows of the file.
bool OrderDependence::has_ticket_of_file(std::int64_t tag) {
  const std::string of_changes =
      " IN (SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1)";
  bool same = is_same("objid,comment,brief", "event", "before_event",
                      "type='t' AND objid" + of_changes, tag) &&
              is_same("target,srcid,mtime", "backlink", "before_backlink",
                      "srctype=1 AND srcid" + of_changes, tag);
  for (const DerivedRows& each : derived_rows(work_.database)) {
    if (!std::string_view(each.table).starts_with("ticket")) continue;
    same = same && is_same("line", fmt::format("({})", each.select_columns()),
                           fmt::format("before_{}", each.table), "tag=?1", tag);
  }
  return same;
}

/// Changes of a ticket with equal times can be processed in any order. One of these orders must
/// result in all rows of the file.
OrderClass OrderDependence::of_ticket(std::int64_t tag) {
  const auto [known, is_new] = ticket_classes_.try_emplace(tag);
  if (!is_new) return known->second;
  std::map<double, std::vector<Rid>> ties;  // by time
  for (const Rid change : tickets_.changes_of(tag))
    ties[work_.tags.get(tag, change)->day].push_back(change);
  const auto is_tie = [](const auto& each) { return each.second.size() > 1; };
  if (std::ranges::none_of(ties, is_tie)) return {};
  for (auto& [day, tie] : ties) std::ranges::sort(tie);
  const std::string name = work_.database.first_text("SELECT tagname FROM tag WHERE tagid=?1", tag);
  const TicketFields fields(work_.database);
  const auto next_order = [&] {
    return std::ranges::any_of(
        ties, [](auto& each) { return std::ranges::next_permutation(each.second).found; });
  };
  int tried = 0;
  bool is_possible = false;
  do {
    std::vector<Rid> changes;
    for (const auto& [day, tie] : ties) changes.insert(changes.end(), tie.begin(), tie.end());
    work_.database.execute("SAVEPOINT tie");
    tickets_.refresh_ticket(name.substr(4), fields, changes);
    is_possible = has_ticket_of_file(tag);
    work_.database.execute("ROLLBACK TO tie; RELEASE tie");
  } while (!is_possible && ++tried < kMostTicketOrders && next_order());
  if (!is_possible && tried < kMostTicketOrders) return {};
  return ticket_classes_[tag] = kEqualTimes;
}

}  // namespace quarry::repository
