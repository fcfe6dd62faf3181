// Rows of `event` for artifacts other than check-ins, and notifications about new rows: email
// alerts and the search index.

#include "events.h"

#include <fmt/core.h>

#include <algorithm>

#include "store/stream_origin.h"

namespace quarry::repository {

using artifact::Structural;

namespace {

constexpr std::size_t kShownDigits = 10;  // default of the `hash-digits` setting
constexpr std::size_t kMinShownDigits = 6;
constexpr std::size_t kMaxShownDigits = 40;
constexpr std::size_t kMoreInLinks = 6;

}  // namespace

void Events::note_for_alerts(char type, Rid rid) {
  if (!has_alerts_) has_alerts_ = work_.database.has_table("pending_alert");
  if (work_.is_quiet || !*has_alerts_) return;
  // The host that has received the artifact sends its mail, but any host can send the daily digest.
  work_.database.execute("INSERT OR IGNORE INTO pending_alert(eventid,sentSep) VALUES(?1,?2)",
                         fmt::format("{}{}", type, rid), is_from_stream(work_.database, rid));
}

// Sets `idxed` to 0, so that fossil indexes the document again when it next updates its search
// index. Until then, the index has the words of the older text, because only fossil's own SQL
// functions can remove these words.
void Events::touch_search(char type, Rid rid, std::optional<std::string_view> name) {
  if (!has_search_index_) has_search_index_ = work_.database.has_table("ftsdocs");
  if (!*has_search_index_) return;
  if (type != 't' && work_.privacy.is_private(rid)) return;
  if (type == 'w') {
    work_.database.execute(
        "DELETE FROM ftsdocs INDEXED BY ftsdocName WHERE type='w' AND name=?1 AND rid<>?2", *name,
        rid);
  }
  work_.database.execute(
      "INSERT INTO ftsdocs(type,rid,name,idxed) VALUES(?1,?2,?3,0)"
      " ON CONFLICT(type,rid) DO UPDATE SET name=excluded.name, idxed=0",
      std::string_view(&type, 1), rid, name);
}

std::size_t Events::shown_digits() {
  Query query =
      work_.database.query("SELECT CAST(value AS INTEGER) FROM config WHERE name='hash-digits'");
  if (!query.step()) return kShownDigits;
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(query.integer(0), kMinShownDigits, kMaxShownDigits));
}

std::string Events::linked(std::string_view hash) {
  return std::string(hash.substr(0, std::min(shown_digits() + kMoreInLinks, kMaxShownDigits)));
}

void Events::put_event(Rid rid, const Structural& artifact, const EventRow& event) {
  const auto bind_row = [&](Query& query) {
    query.bind(rid, std::string_view(&event.type, 1), event.day,
               event.tag != 0 ? std::optional(event.tag) : std::nullopt, user_of(artifact),
               event.comment, event.brief);
  };
  bool is_new = true;
  {
    Query present = work_.database.query(
        "SELECT type IS ?2 AND coalesce(omtime,mtime) IS ?3 AND tagid IS ?4 AND user IS ?5"
        " AND comment IS ?6 AND brief IS ?7 FROM event WHERE objid=?1");
    bind_row(present);
    if (present.step()) {
      if (present.integer(0) != 0) return;
      is_new = false;
    }
  }
  Query insert = work_.database.query(
      "INSERT OR REPLACE INTO event(objid,type,mtime,tagid,user,comment,brief)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7)");
  bind_row(insert);
  insert.run();
  if (is_new) note_for_alerts(event.type, rid);
  note_compared_times(rid);
  note_earlier_tags(rid);
}

void Events::note_compared_times(Rid rid) {
  const auto children = work_.lineage.children(rid);
  if (std::ranges::any_of(children,
                          [&](const auto& child) { return work_.lineage.is_check_in(child.rid); }))
    work_.pending.stale_times.insert(rid);
}

void Events::note_earlier_tags(Rid rid) {
  if (work_.is_whole) return;  // Tags::set_tag() has already marked the event
  const bool has_tags = work_.database.has_row(
      "SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagid<=4", rid);
  if (has_tags) work_.pending.stale_events.insert(rid);
}

}  // namespace quarry::repository
