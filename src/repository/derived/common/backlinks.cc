#include "backlinks.h"

namespace quarry::repository {

void remove_backlinks(Database& database, BacklinkSource type, std::int64_t source) {
  database.execute("DELETE FROM backlink INDEXED BY backlink_src WHERE srctype=?1 AND srcid=?2",
                   static_cast<int>(type), source);
}

void add_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                   const std::vector<std::string>& targets, double day) {
  for (const std::string& target : targets) {
    database.execute(
        "INSERT OR REPLACE INTO backlink(target,srctype,srcid,mtime) VALUES(?1,?2,?3,?4)", target,
        static_cast<int>(type), source, day);
  }
}

void write_backlinks(Database& database, BacklinkSource type, std::int64_t source,
                     const std::vector<std::string>& targets, double day) {
  remove_backlinks(database, type, source);
  add_backlinks(database, type, source, targets, day);
}

}  // namespace quarry::repository
