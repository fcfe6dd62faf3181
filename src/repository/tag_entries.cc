#include "tag_entries.h"

namespace quarry::repository {

int tag_type(const artifact::TagCard& card) {
  if (card.kind == '-') return kCancelTag;
  return card.kind == '+' ? kSingleTag : kPropagatingTag;
}

std::optional<TagEntry> tag_entry(Database& database, std::int64_t tag, Rid rid) {
  Query query = database.query(
      "SELECT tagtype,srcid,origid,value,mtime FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 "
      "WHERE rid=?1 AND tagid=?2");
  query.bind(1, rid).bind(2, tag);
  if (!query.step()) return std::nullopt;
  return TagEntry{static_cast<int>(query.integer(0)), query.integer(1), query.integer(2),
                  query.is_null(3) ? std::nullopt : std::optional(std::string(query.text(3))),
                  query.real(4)};
}

void write_tag_entry(Database& database, std::int64_t tag, Rid rid, const TagEntry& entry) {
  database
      .query(
          "INSERT OR REPLACE INTO tagxref(tagid,tagtype,srcid,origid,value,mtime,rid)"
          " VALUES(?1,?2,?3,?4,?5,?6,?7)")
      .bind(1, tag)
      .bind(2, entry.type)
      .bind(3, entry.source)
      .bind(4, entry.origin)
      .bind_optional(5, entry.value)
      .bind(6, entry.day)
      .bind(7, rid)
      .run();
}

void remove_tag_entry(Database& database, std::int64_t tag, Rid rid) {
  database
      .query("DELETE FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagid=?2")
      .bind(1, rid)
      .bind(2, tag)
      .run();
}

}  // namespace quarry::repository
