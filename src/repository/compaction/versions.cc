#include "versions.h"

#include <algorithm>

namespace quarry::repository {
namespace {

// More successors than this are not compared: a file that many branches change at once.
constexpr int kMostSuccessors = 4;
// Nor are more of those that came next.
constexpr int kMostNext = 5;
// The events among which they are looked for.
constexpr int kMostEvents = 50;

}  // namespace

std::vector<Rid> Versions::rows(Query query) {
  std::vector<Rid> found;
  while (query.step()) found.push_back(query.integer(0));
  return found;
}

std::optional<Versions::Place> Versions::place_of_page(Rid rid) {
  Query page = database_.query(
      "SELECT x.tagid, x.mtime FROM tagxref AS x INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE x.rid=?1 AND EXISTS(SELECT 1 FROM tag WHERE tagid=x.tagid"
      "  AND (tagname GLOB 'wiki-*' OR tagname GLOB 'event-*')) LIMIT 1");
  if (!page.bind(1, rid).step()) return std::nullopt;
  return Place{Kind::kPage, page.real(1), page.integer(0)};
}

std::optional<Versions::Place> Versions::place_of(Rid rid) {
  {
    Query check_in = database_.query("SELECT mtime FROM event WHERE objid=?1 AND type='ci'");
    if (check_in.bind(1, rid).step()) return Place{Kind::kCheckIn, check_in.real(0)};
  }
  {
    Query file = database_.query(
        "SELECT max((SELECT mtime FROM event WHERE objid=m.mid))"
        " FROM mlink AS m INDEXED BY mlink_i3 WHERE m.fid=?1");
    if (file.bind(1, rid).step() && !file.is_null(0)) return Place{Kind::kFile, file.real(0)};
  }
  return place_of_page(rid);
}

bool Versions::is_before(const Place& place, Rid rid, const Place& other, Rid other_rid) {
  return std::pair(place.time, rid) < std::pair(other.time, other_rid);
}

std::optional<bool> Versions::is_later(Rid one, Rid other) {
  const auto place = place_of(one);
  const auto other_place = place_of(other);
  if (!place || !other_place || place->kind != other_place->kind) return std::nullopt;
  return is_before(*other_place, other, *place, one);
}

/// Those of FOUND that are later than RID, which stands in PLACE.
std::vector<Rid> Versions::later_ones(Rid rid, const Place& place, const std::vector<Rid>& found) {
  std::vector<Rid> later;
  for (const Rid one : found) {
    if (one == rid || std::ranges::find(later, one) != later.end()) continue;
    const auto other = place_of(one);
    if (other && other->kind == place.kind && is_before(place, rid, *other, one)) {
      later.push_back(one);
    }
  }
  return later;
}

/// What no check-in names as a successor of the file RID, and yet came later under its name.
std::vector<Rid> Versions::next_of_name(Rid rid, const Place& place) {
  Query query = database_.query(
      "SELECT fid, (SELECT mtime FROM event WHERE objid=m.mid) AS time"
      " FROM mlink AS m INDEXED BY mlink_i2"
      " WHERE fnid=(SELECT fnid FROM mlink INDEXED BY mlink_i3 WHERE fid=?1 LIMIT 1)"
      " AND fid>0 AND time>=?2 ORDER BY time LIMIT ?3");
  query.bind(1, rid).bind(2, place.time).bind(3, kMostNext);
  return rows(std::move(query));
}

std::vector<Rid> Versions::after(Rid rid) {
  const auto place = place_of(rid);
  if (!place) return {};
  if (place->kind == Kind::kCheckIn) {
    Query children = database_.query(
        "SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1 LIMIT ?2");
    children.bind(1, rid).bind(2, kMostSuccessors);
    return later_ones(rid, *place, rows(std::move(children)));
  }
  if (place->kind == Kind::kFile) {
    Query successors = database_.query(
        "SELECT DISTINCT fid FROM mlink INDEXED BY mlink_i4 WHERE pid=?1 AND fid>0 LIMIT ?2");
    successors.bind(1, rid).bind(2, kMostSuccessors);
    std::vector<Rid> found = later_ones(rid, *place, rows(std::move(successors)));
    if (!found.empty()) return found;
    return later_ones(rid, *place, next_of_name(rid, *place));
  }
  Query next = database_.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime>=?2"
      " ORDER BY mtime LIMIT 2");
  next.bind(1, place->tag).bind(2, place->time);
  return later_ones(rid, *place, rows(std::move(next)));
}

std::vector<Rid> Versions::next_in_project(Rid rid) {
  const auto place = place_of(rid);
  if (!place || place->kind != Kind::kCheckIn) return {};
  // An import has made many at the same moment.
  Query same = database_.query(
      "SELECT objid FROM event INDEXED BY event_i1 WHERE mtime=?1 AND objid>?2 AND type='ci'"
      " ORDER BY objid LIMIT ?3");
  same.bind(1, place->time).bind(2, rid).bind(3, kMostNext);
  Query next = database_.query(
      "SELECT objid FROM (SELECT objid, type FROM event INDEXED BY event_i1"
      " WHERE mtime>?1 ORDER BY mtime LIMIT ?2) WHERE type='ci' LIMIT ?3");
  next.bind(1, place->time).bind(2, kMostEvents).bind(3, kMostNext);
  std::vector<Rid> found = rows(std::move(same));
  std::ranges::copy(rows(std::move(next)), std::back_inserter(found));
  found = later_ones(rid, *place, found);
  if (found.size() > kMostNext) found.resize(kMostNext);
  return found;
}

std::vector<Rid> Versions::before(Rid rid) {
  // A file, as what came after it names it, and everything that a check-in changed.
  Query query = database_.query(
      "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1"
      " UNION SELECT pid FROM mlink INDEXED BY mlink_i3 WHERE fid=?1 AND pid>0"
      " UNION SELECT pid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND pid>0"
      " UNION SELECT fid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND fid>0");
  std::vector<Rid> found = rows(std::move(query.bind(1, rid)));
  if (const auto page = place_of_page(rid)) {
    Query earlier = database_.query(
        "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime<=?2"
        " ORDER BY mtime DESC LIMIT 2");
    earlier.bind(1, page->tag).bind(2, page->time);
    std::ranges::copy(rows(std::move(earlier)), std::back_inserter(found));
  }
  std::erase(found, rid);
  return found;
}

}  // namespace quarry::repository
