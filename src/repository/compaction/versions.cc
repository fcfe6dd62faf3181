#include "versions.h"

#include <algorithm>

namespace quarry::repository {
namespace {

// Compare at most this many successors: many branches may change a file at once.
constexpr int kMostSuccessors = 4;
// Compare at most this many next versions.
constexpr int kMostNext = 5;
// Search them among this many events.
constexpr int kMostEvents = 50;

}  // namespace

std::vector<Rid> Versions::rows(Query query) {
  std::vector<Rid> found;
  while (query.step()) found.push_back(query.integer(0));
  return found;
}

std::optional<Versions::SortKey> Versions::key_of_page(Rid rid) {
  Query page = database_.query(
      "SELECT x.tagid, x.mtime FROM tagxref AS x INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE x.rid=?1 AND EXISTS(SELECT 1 FROM tag WHERE tagid=x.tagid"
      "  AND (tagname GLOB 'wiki-*' OR tagname GLOB 'event-*')) LIMIT 1");
  if (!page.bind(1, rid).step()) return std::nullopt;
  return SortKey{Kind::kPage, page.real(1), page.integer(0)};
}

std::optional<Versions::SortKey> Versions::key_of(Rid rid) {
  {
    Query check_in = database_.query("SELECT mtime FROM event WHERE objid=?1 AND type='ci'");
    if (check_in.bind(1, rid).step()) return SortKey{Kind::kCheckIn, check_in.real(0)};
  }
  {
    Query file = database_.query(
        "SELECT max((SELECT mtime FROM event WHERE objid=m.mid))"
        " FROM mlink AS m INDEXED BY mlink_i3 WHERE m.fid=?1");
    if (file.bind(1, rid).step() && !file.is_null(0)) return SortKey{Kind::kFile, file.real(0)};
  }
  return key_of_page(rid);
}

bool Versions::is_before(const SortKey& key, Rid rid, const SortKey& other, Rid other_rid) {
  return std::pair(key.time, rid) < std::pair(other.time, other_rid);
}

std::optional<bool> Versions::is_later(Rid one, Rid other) {
  const auto key = key_of(one);
  const auto other_key = key_of(other);
  if (!key || !other_key || key->kind != other_key->kind) return std::nullopt;
  return is_before(*other_key, other, *key, one);
}

/// The versions in FOUND that are later than RID, whose key is KEY.
std::vector<Rid> Versions::later_ones(Rid rid, const SortKey& key, const std::vector<Rid>& found) {
  std::vector<Rid> later;
  for (const Rid one : found) {
    if (one == rid || std::ranges::find(later, one) != later.end()) continue;
    const auto other = key_of(one);
    if (other && other->kind == key.kind && is_before(key, rid, *other, one)) {
      later.push_back(one);
    }
  }
  return later;
}

/// Later contents under the name of the file RID that no check-in names as its successor.
std::vector<Rid> Versions::next_of_name(Rid rid, const SortKey& key) {
  Query query = database_.query(
      "SELECT fid, (SELECT mtime FROM event WHERE objid=m.mid) AS time"
      " FROM mlink AS m INDEXED BY mlink_i2"
      " WHERE fnid=(SELECT fnid FROM mlink INDEXED BY mlink_i3 WHERE fid=?1 LIMIT 1)"
      " AND fid>0 AND time>=?2 ORDER BY time LIMIT ?3");
  query.bind(1, rid).bind(2, key.time).bind(3, kMostNext);
  return rows(std::move(query));
}

std::vector<Rid> Versions::after(Rid rid) {
  const auto key = key_of(rid);
  if (!key) return {};
  if (key->kind == Kind::kCheckIn) {
    Query children = database_.query(
        "SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1 LIMIT ?2");
    children.bind(1, rid).bind(2, kMostSuccessors);
    return later_ones(rid, *key, rows(std::move(children)));
  }
  if (key->kind == Kind::kFile) {
    Query successors = database_.query(
        "SELECT DISTINCT fid FROM mlink INDEXED BY mlink_i4 WHERE pid=?1 AND fid>0 LIMIT ?2");
    successors.bind(1, rid).bind(2, kMostSuccessors);
    std::vector<Rid> found = later_ones(rid, *key, rows(std::move(successors)));
    if (!found.empty()) return found;
    return later_ones(rid, *key, next_of_name(rid, *key));
  }
  Query next = database_.query(
      "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime>=?2"
      " ORDER BY mtime LIMIT 2");
  next.bind(1, key->tag).bind(2, key->time);
  return later_ones(rid, *key, rows(std::move(next)));
}

std::vector<Rid> Versions::next_in_project(Rid rid) {
  const auto key = key_of(rid);
  if (!key || key->kind != Kind::kCheckIn) return {};
  // An import may have created many check-ins with the same time.
  Query same = database_.query(
      "SELECT objid FROM event INDEXED BY event_i1 WHERE mtime=?1 AND objid>?2 AND type='ci'"
      " ORDER BY objid LIMIT ?3");
  same.bind(1, key->time).bind(2, rid).bind(3, kMostNext);
  Query next = database_.query(
      "SELECT objid FROM (SELECT objid, type FROM event INDEXED BY event_i1"
      " WHERE mtime>?1 ORDER BY mtime LIMIT ?2) WHERE type='ci' LIMIT ?3");
  next.bind(1, key->time).bind(2, kMostEvents).bind(3, kMostNext);
  std::vector<Rid> found = rows(std::move(same));
  std::ranges::copy(rows(std::move(next)), std::back_inserter(found));
  found = later_ones(rid, *key, found);
  if (found.size() > kMostNext) found.resize(kMostNext);
  return found;
}

std::vector<Rid> Versions::before(Rid rid) {
  // Earlier versions of a file, and everything that a check-in changed.
  Query query = database_.query(
      "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1"
      " UNION SELECT pid FROM mlink INDEXED BY mlink_i3 WHERE fid=?1 AND pid>0"
      " UNION SELECT pid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND pid>0"
      " UNION SELECT fid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND fid>0");
  std::vector<Rid> found = rows(std::move(query.bind(1, rid)));
  if (const auto page = key_of_page(rid)) {
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
