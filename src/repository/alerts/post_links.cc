#include "post_links.h"

namespace quarry::repository {

PostLinks links_of_post(Database& database, Rid rid) {
  Query query = database.query("SELECT fprev, firt FROM forumpost WHERE fpid=?1", rid);
  if (rid == 0 || !query.step()) return {};
  return {.is_there = true, .earlier = query.integer(0), .answered = query.integer(1)};
}

}  // namespace quarry::repository
