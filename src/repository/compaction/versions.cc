#include "versions.h"

#include <algorithm>

namespace quarry::repository {
namespace {

// Maximum number of successors to compare. A file can have a successor on each of many branches.
constexpr int kMaxSuccessors = 4;
// Maximum number of later check-ins that next_in_project() returns, and of later contents that
// next_of_name() returns.
constexpr int kMaxNext = 5;
// Maximum number of rows of `event` in which next_in_project() searches for later check-ins.
constexpr int kMaxEvents = 50;

}  // namespace

std::optional<Versions::SortKey> Versions::key_of_page(Rid rid) {
  Query page = database_.query(
      "SELECT x.tagid, x.mtime FROM tagxref AS x INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE x.rid=?1 AND EXISTS(SELECT 1 FROM tag WHERE tagid=x.tagid"
      "  AND (tagname GLOB 'wiki-*' OR tagname GLOB 'event-*')) LIMIT 1",
      rid);
  if (!page.step()) return std::nullopt;
  return SortKey{Kind::kPage, page.real(1), page.integer(0)};
}

std::optional<Versions::SortKey> Versions::key_of(Rid rid) {
  {
    Query check_in = database_.query("SELECT mtime FROM event WHERE objid=?1 AND type='ci'", rid);
    if (check_in.step()) return SortKey{Kind::kCheckIn, check_in.real(0)};
  }
  {
    Query file = database_.query(
        "SELECT max((SELECT mtime FROM event WHERE objid=m.mid))"
        " FROM mlink AS m INDEXED BY mlink_i3 WHERE m.fid=?1",
        rid);
    if (file.step() && !file.is_null(0)) return SortKey{Kind::kFile, file.real(0)};
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

/// Returns the versions in FOUND that are later than RID, whose key is KEY.
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

/// Returns later contents with the file name of RID, even if no check-in has replaced RID with
/// these contents.
std::vector<Rid> Versions::next_of_name(Rid rid, const SortKey& key) {
  return database_.integers(
      "SELECT fid, (SELECT mtime FROM event WHERE objid=m.mid) AS time"
      " FROM mlink AS m INDEXED BY mlink_i2"
      " WHERE fnid=(SELECT fnid FROM mlink INDEXED BY mlink_i3 WHERE fid=?1 LIMIT 1)"
      " AND fid>0 AND time>=?2 ORDER BY time LIMIT ?3",
      rid, key.time, kMaxNext);
}

std::vector<Rid> Versions::after(Rid rid) {
  const auto key = key_of(rid);
  if (!key) return {};
  if (key->kind == Kind::kCheckIn) {
    return later_ones(
        rid, *key,
        database_.integers(
            "SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1 LIMIT ?2", rid,
            kMaxSuccessors));
  }
  if (key->kind == Kind::kFile) {
    std::vector<Rid> found = later_ones(
        rid, *key,
        database_.integers(
            "SELECT DISTINCT fid FROM mlink INDEXED BY mlink_i4 WHERE pid=?1 AND fid>0 LIMIT ?2",
            rid, kMaxSuccessors));
    if (!found.empty()) return found;
    return later_ones(rid, *key, next_of_name(rid, *key));
  }
  return later_ones(rid, *key,
                    database_.integers(
                        "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime>=?2"
                        " ORDER BY mtime LIMIT 2",
                        key->tag, key->time));
}

std::vector<Rid> Versions::next_in_project(Rid rid) {
  const auto key = key_of(rid);
  if (!key || key->kind != Kind::kCheckIn) return {};
  // First search for check-ins with the same time, because an import can create many of them.
  std::vector<Rid> found = database_.integers(
      "SELECT objid FROM event INDEXED BY event_i1 WHERE mtime=?1 AND objid>?2 AND type='ci'"
      " ORDER BY objid LIMIT ?3",
      key->time, rid, kMaxNext);
  std::ranges::copy(
      database_.integers("SELECT objid FROM (SELECT objid, type FROM event INDEXED BY event_i1"
                         " WHERE mtime>?1 ORDER BY mtime LIMIT ?2) WHERE type='ci' LIMIT ?3",
                         key->time, kMaxEvents, kMaxNext),
      std::back_inserter(found));
  found = later_ones(rid, *key, found);
  if (found.size() > kMaxNext) found.resize(kMaxNext);
  return found;
}

std::vector<Rid> Versions::before(Rid rid) {
  // If RID is a file, find its earlier versions. If RID is a check-in, find its parents, and the
  // old and new contents of the files that it changed.
  std::vector<Rid> found = database_.integers(
      "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1"
      " UNION SELECT pid FROM mlink INDEXED BY mlink_i3 WHERE fid=?1 AND pid>0"
      " UNION SELECT pid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND pid>0"
      " UNION SELECT fid FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND fid>0",
      rid);
  if (const auto page = key_of_page(rid)) {
    std::ranges::copy(
        database_.integers(
            "SELECT rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND mtime<=?2"
            " ORDER BY mtime DESC LIMIT 2",
            page->tag, page->time),
        std::back_inserter(found));
  }
  std::erase(found, rid);
  return found;
}

}  // namespace quarry::repository
