#include "symbolic_tags.h"

#include <string_view>

namespace quarry::repository {

std::vector<std::string> symbolic_tags(Database& database, Rid rid, std::size_t limit) {
  Query query = database.query(
      "SELECT (SELECT tagname FROM tag WHERE tag.tagid=tagxref.tagid)"
      " FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagtype>0",
      rid);
  std::vector<std::string> tags;
  while (tags.size() < limit && query.step()) {
    constexpr std::string_view kPrefix = "sym-";
    if (!query.text(0).starts_with(kPrefix)) continue;
    tags.emplace_back(query.text(0).substr(kPrefix.size()));
  }
  return tags;
}

}  // namespace quarry::repository
