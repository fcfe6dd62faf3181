// Other known repositories of the same project.
//
//   config   `syncwith:URL`   this repository synced with it
//            `syncfrom:URL`   it synced with this repository, and sent its URL
//            `gitpush:URL`    a git mirror
//
// mtime is the time of the last sync.

#include "repository_state.h"

namespace quarry::repository {

namespace {

constexpr std::int64_t kMonthSeconds = std::int64_t{31} * 24 * 3600;

}  // namespace

std::vector<SyncLink> Settings::sync_links(std::string_view own_url) {
  Query query = state_->database.query(
      "WITH known(url, about, mtime) AS ("
      " SELECT substr(name,10), '{}', mtime FROM config WHERE name GLOB 'syncwith:http*'"
      " UNION ALL SELECT substr(name,10), '{}', mtime FROM config WHERE name GLOB 'syncfrom:http*'"
      " UNION ALL SELECT substr(name,9), '{\"type\":\"git\"}', mtime FROM config"
      "  WHERE name GLOB 'gitpush:*')"
      " SELECT url, json_insert(about,'$.src',?1), max(mtime) FROM known WHERE mtime>?2"
      " GROUP BY url",
      own_url, state_->options.clock->now().value / 1000 - kMonthSeconds);
  std::vector<SyncLink> links;
  while (query.step()) {
    links.push_back({std::string(query.text(0)), std::string(query.text(1)), query.integer(2)});
  }
  return links;
}

}  // namespace quarry::repository
