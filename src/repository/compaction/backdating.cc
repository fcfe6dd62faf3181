#include "backdating.h"

#include <algorithm>

namespace quarry::repository {

std::optional<Backdating::Place> Backdating::place_of(Rid rid) {
  Query check_in = database_.query("SELECT mtime FROM event WHERE objid=?1 AND type='ci'");
  if (check_in.bind(1, rid).step()) return Place{0, {check_in.real(0), rid}};
  Query page = database_.query(
      "SELECT x.tagid, x.mtime FROM tagxref AS x INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE x.rid=?1 AND x.srcid=?1 AND EXISTS(SELECT 1 FROM tag WHERE tagid=x.tagid"
      "  AND (tagname GLOB 'wiki-*' OR tagname GLOB 'event-*')) LIMIT 1");
  if (!page.bind(1, rid).step()) return std::nullopt;
  return Place{page.integer(0), {page.real(1), rid}};
}

bool Backdating::can_count(Rid rid) {
  const auto place = place_of(rid);
  if (!place || place->page != 0) return place.has_value();
  Query changes = database_.query("SELECT 1 FROM mlink INDEXED BY mlink_i1 WHERE mid=?1");
  return !changes.bind(1, rid).step();
}

bool Backdating::may_count(Rid rid) {
  const auto place = place_of(rid);
  if (!place) return false;
  auto known = backdated_.find(place->page);
  if (known == backdated_.end()) {
    known = backdated_.emplace(place->page, read(place->page)).first;
  }
  return std::ranges::any_of(known->second, [&](const Backdated& pair) {
    return pair.child <= place->moment && place->moment < pair.parent;
  });
}

/// All children that are dated before a parent, or before what they picked.
std::vector<Backdating::Backdated> Backdating::read(std::int64_t page) {
  constexpr const char* kOfProject =
      "WITH link(parent, child) AS (SELECT pid, cid FROM plink"
      "  UNION ALL SELECT parentid, childid FROM cherrypick)"
      " SELECT child, (SELECT mtime FROM event WHERE objid=child AND type='ci'),"
      "  parent, (SELECT mtime FROM event WHERE objid=parent) FROM link";
  constexpr const char* kOfPage =
      "SELECT c.rid, c.mtime, l.pid, (SELECT mtime FROM tagxref"
      "  INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=l.pid AND tagid=?1)"
      " FROM tagxref AS c INDEXED BY tagxref_i1"
      " CROSS JOIN plink AS l INDEXED BY plink_i2 ON l.cid=c.rid WHERE c.tagid=?1";
  Query query = page == 0 ? database_.query(kOfProject) : database_.query(kOfPage);
  if (page != 0) query.bind(1, page);
  std::vector<Backdated> found;
  while (query.step()) {
    if (query.is_null(1) || query.is_null(3)) continue;
    const Backdated pair{{query.real(1), query.integer(0)}, {query.real(3), query.integer(2)}};
    if (pair.child < pair.parent) found.push_back(pair);
  }
  return found;
}

}  // namespace quarry::repository
