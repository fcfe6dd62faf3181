#include "backlinks.h"

namespace quarry::repository {

void remove_backlinks(Database& database, BacklinkSource type, std::int64_t source) {
  database.query("DELETE FROM backlink INDEXED BY backlink_src WHERE srctype=?1 AND srcid=?2")
      .bind(1, static_cast<int>(type))
      .bind(2, source)
      .run();
}

void add_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                   const std::vector<std::string>& targets, double day) {
  for (const std::string& target : targets) {
    database
        .query("INSERT OR REPLACE INTO backlink(target,srctype,srcid,mtime) VALUES(?1,?2,?3,?4)")
        .bind(1, target)
        .bind(2, static_cast<int>(type))
        .bind(3, source)
        .bind(4, day)
        .run();
  }
}

void write_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                     const std::vector<std::string>& targets, double day) {
  remove_backlinks(database, type, source);
  add_backlinks(database, type, source, targets, day);
}

}  // namespace quarry::repository
