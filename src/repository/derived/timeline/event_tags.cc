// Changes that tags make to a row of `event`: background colour, comment, user, date.
//
//   check-ins   the colour, even if inherited; comment, user and date only if set on the check-in
//               itself
//   others      the same, with these exceptions. An inherited colour applies only if its card comes
//               after the artifact (artifact_order.h). Tags that an artifact sets on itself do not
//               apply, but the row of a technote is created with the technote's own colour. Tags
//               do not apply to ticket changes, because the rows of ticket changes are created last

#include "event_tags.h"

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "markup/text_links.h"

namespace quarry::repository {

namespace {

/// The properties of a tag that affect the row of `event`.
struct Seen {
  bool is_seen = false;
  std::optional<std::string> value;
};

Seen seen_tag(Work& work, Rid rid, bool is_technote, PredefinedTag tag) {
  Query query = work.database.query(
      "SELECT tagtype, coalesce(nullif(srcid,0),(SELECT o.srcid FROM tagxref AS o"
      "   WHERE o.rid=t.origid AND o.tagid=t.tagid)), value, srcid"
      " FROM tagxref AS t INDEXED BY sqlite_autoindex_tagxref_1 WHERE t.rid=?1 AND t.tagid=?2",
      rid, tag);
  if (!query.step()) return {};
  const bool is_inherited = query.integer(3) == 0;
  if (is_inherited && tag != kTagBgcolor) return {};
  const Rid source = query.integer(1);
  const bool comes_later = is_inherited ? work.order.before(rid, source) : source != rid;
  if (!comes_later && !(is_technote && tag == kTagBgcolor)) return {};
  const bool is_cancelled = comes_later && query.integer(0) == 0;
  if (is_cancelled || query.is_null(2)) return {true, std::nullopt};
  return {true, std::string(query.text(2))};
}

}  // namespace

void EventTags::refresh_event(Rid rid) {
  Query query = work_.database.query("SELECT type, tagid FROM event WHERE objid=?1", rid);
  const bool has_row = query.step();
  const char type = has_row && !query.text(0).empty() ? query.text(0).front() : 0;
  if (type == 'c') return refresh_check_in_event(rid);

  // For all kinds of artifacts, the links in an edited comment belong to the artifact. If the edit
  // is cancelled, the links are removed.
  Query edited = work_.database.query(
      "SELECT value, mtime FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE tagid=2 AND rid=?1 AND srcid<>0",
      rid);
  if (edited.step()) {
    write_backlinks(work_.database, BacklinkSource::kComment, rid,
                    text_links(edited.text(0), Markup::kWiki),
                    printed_day(work_.database, edited.real(1)));
  }
  if (!has_row || (type == 't' && !query.is_null(1))) return;
  event_times_.forget_moved_time(rid);

  const auto seen = [&](PredefinedTag tag) {
    return seen_tag(work_, rid, type == 'e' && !query.is_null(1), tag);
  };
  const Seen date = seen(kTagDate);
  work_.database.execute(
      "UPDATE event SET bgcolor=?2, ecomment=?3, euser=?4,"
      " mtime=CASE WHEN ?5 THEN julianday(?6) ELSE coalesce(omtime,mtime) END,"
      " omtime=CASE WHEN ?5 THEN coalesce(omtime,mtime) END WHERE objid=?1",
      rid, seen(kTagBgcolor).value, seen(kTagComment).value, seen(kTagUser).value, date.is_seen,
      date.value);
}

std::optional<OwnTag> own_tag(Work& work, Rid rid, PredefinedTag tag) {
  const std::optional<TagEntry> entry = work.tags.get(tag, rid);
  if (!entry || entry->source == 0) return std::nullopt;
  return OwnTag{entry->type == kCancelTag ? std::nullopt : entry->value, entry->day};
}

void EventTags::refresh_check_in_event(Rid rid) {
  const std::optional<OwnTag> comment = own_tag(work_, rid, kTagComment);
  const std::optional<OwnTag> user = own_tag(work_, rid, kTagUser);
  work_.database.execute(
      "UPDATE event SET"
      " bgcolor=(SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE tagid=1 "
      "AND rid=objid AND tagtype>0), ecomment=?2, euser=?3 WHERE objid=?1",
      rid, comment ? comment->value : std::nullopt, user ? user->value : std::nullopt);
  work_.pending.stale_times.insert(rid);

  // The links in an edited comment replace the links in the original comment.
  if (!comment) return;
  write_backlinks(work_.database, BacklinkSource::kComment, rid,
                  text_links(comment->value.value_or(""), Markup::kWiki),
                  printed_day(work_.database, comment->day));
}

}  // namespace quarry::repository
