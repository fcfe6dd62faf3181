// What tags make of a row of `event`: background colour, comment, user, date.
//
//   check-ins   the colour that they have; comment, user and date that cards have put on
//               themselves, whenever they came
//   the rest    in fossil a tag changes the row that is there; one that rebuild sees before the
//               artifact itself is lost for the row (but for a technote's colour, which is looked
//               up when the row is made). The rows of ticket changes are made last: no tag shows
//               there.

#include "event_tags.h"

#include <set>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "markup/text_links.h"

namespace quarry::repository {

namespace {

/// A tag on an artifact as its row of `event` sees it.
struct Seen {
  bool is_seen = false;
  std::optional<std::string> value;
};

class SeenTags {
 public:
  SeenTags(Database& database, RebuildOrder& order, Rid rid, bool is_technote)
      : database_(database), order_(order), rid_(rid), is_technote_(is_technote) {}

  Seen look(PredefinedTag tag) {
    Query query = database_.query(
        "SELECT tagtype, coalesce(nullif(srcid,0),(SELECT o.srcid FROM tagxref AS o"
        "   WHERE o.rid=t.origid AND o.tagid=t.tagid)), value, srcid"
        " FROM tagxref AS t INDEXED BY sqlite_autoindex_tagxref_1 WHERE t.rid=?1 AND t.tagid=?2");
    query.bind(1, rid_).bind(2, tag);
    if (!query.step()) return {};
    const bool is_inherited = query.integer(3) == 0;
    if (is_inherited && tag != kTagBgcolor) return {};
    const Rid source = query.integer(1);
    const bool comes_later = order_.before(rid_, source) && !order_.before_again(source, rid_);
    if (!comes_later && !(is_technote_ && tag == kTagBgcolor)) return {};
    const bool is_cancelled = comes_later && query.integer(0) == 0;
    if (is_cancelled || query.is_null(2)) return {true, std::nullopt};
    return {true, std::string(query.text(2))};
  }

 private:
  Database& database_;
  RebuildOrder& order_;
  Rid rid_;
  bool is_technote_;
};

}  // namespace

void EventTags::refresh_event(Rid rid) {
  Query query = work_.database.query("SELECT type, tagid FROM event WHERE objid=?1");
  const bool has_row = query.bind(1, rid).step();
  const char type = has_row && !query.text(0).empty() ? query.text(0).front() : 0;
  if (type == 'c') return refresh_check_in_event(rid);

  // The links in an edited comment are the artifact's, whatever it is, and who takes the edit back
  // takes them away.
  Query edited = work_.database.query(
      "SELECT value, mtime FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE tagid=2 AND rid=?1 AND srcid<>0");
  if (edited.bind(1, rid).step()) {
    write_backlinks(work_.database, BacklinkSource::kComment, rid,
                    text_links(edited.text(0), Markup::kWiki),
                    printed_day(work_.database, edited.real(1)));
  }
  if (!has_row || (type == 't' && !query.is_null(1))) return;
  event_times_.forget_moved_time(rid);

  SeenTags tags(work_.database, work_.order, rid, type == 'e' && !query.is_null(1));
  const Seen date = tags.look(kTagDate);
  work_.database
      .query(
          "UPDATE event SET bgcolor=?2, ecomment=?3, euser=?4,"
          " mtime=CASE WHEN ?5 THEN julianday(?6) ELSE coalesce(omtime,mtime) END,"
          " omtime=CASE WHEN ?5 THEN coalesce(omtime,mtime) END WHERE objid=?1")
      .bind(1, rid)
      .bind_optional(2, tags.look(kTagBgcolor).value)
      .bind_optional(3, tags.look(kTagComment).value)
      .bind_optional(4, tags.look(kTagUser).value)
      .bind(5, date.is_seen ? 1 : 0)
      .bind_optional(6, date.value)
      .run();
}

namespace {

/// Whether a rebuild has looked at all from which RID descends, up to ORIGIN, before it looks at RID
/// again: so what has been inherited from there is there.
bool has_come_down(Work& work, Rid origin, Rid rid) {
  std::set<Rid> seen{rid};  // a tag may have made a check-in its own ancestor
  for (Rid at = work.lineage.primary_parent(rid); at != origin;
       at = work.lineage.primary_parent(at)) {
    if (at == 0 || !seen.insert(at).second || !work.order.before_again(at, rid)) return false;
  }
  return true;
}

}  // namespace

std::optional<OwnTag> own_tag(Work& work, FileLinks& file_links, Rid rid, PredefinedTag tag) {
  const std::optional<TagEntry> entry = work.tags.get(tag, rid);
  if (!entry) return std::nullopt;
  const bool is_inherited = entry->source == 0;
  Rid source = entry->source;
  if (is_inherited) {
    const std::optional<TagEntry> origin = work.tags.get(tag, entry->origin);
    if (!origin || origin->source == 0) return std::nullopt;
    source = origin->source;
  }
  const bool comes_between = work.order.before_again(source, rid) &&
                             (!is_inherited || has_come_down(work, entry->origin, rid)) &&
                             !file_links.has_changes(rid);
  if (is_inherited && !comes_between) return std::nullopt;
  OwnTag own{.comes_first = comes_between || work.order.before(source, rid),
             .value = std::nullopt,
             .day = entry->day};
  if (own.comes_first || entry->type != kCancelTag) own.value = entry->value;
  return own;
}

void EventTags::refresh_check_in_event(Rid rid) {
  const std::optional<OwnTag> comment = own_tag(work_, file_links_, rid, kTagComment);
  const std::optional<OwnTag> user = own_tag(work_, file_links_, rid, kTagUser);
  work_.database
      .query(
          "UPDATE event SET"
          " bgcolor=(SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE tagid=1 "
          "AND rid=objid AND tagtype>0), ecomment=?2, euser=?3 WHERE objid=?1")
      .bind(1, rid)
      .bind_optional(2, comment ? comment->value : std::nullopt)
      .bind_optional(3, user ? user->value : std::nullopt)
      .run();
  work_.pending.stale_times.insert(rid);

  // An inherited one may have been shown before.
  if (work_.pending.stale_comments.erase(rid) == 0 && !work_.tags.get(kTagComment, rid)) return;
  // Whichever of the two artifacts is looked at last writes these links, and dates them.
  std::string text(comment && comment->value ? *comment->value : "");
  double day = comment ? printed_day(work_.database, comment->day) : 0;
  Query own = work_.database.query("SELECT omtime, comment FROM event WHERE objid=?1");
  if ((!comment || comment->comes_first) && own.bind(1, rid).step()) {
    day = own.real(0);
    if (!comment || !comment->value) text = own.text(1);
  }
  write_backlinks(work_.database, BacklinkSource::kComment, rid, text_links(text, Markup::kWiki),
                  day);
}

}  // namespace quarry::repository
