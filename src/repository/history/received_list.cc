#include "quarry/repository/received_list.h"

#include <fmt/core.h>

#include <algorithm>

#include <optional>
#include <string_view>

#include "quarry/artifact/structural.h"
#include "repository_state.h"
#include "store/stream_origin.h"

namespace quarry::repository {
namespace {

struct ArrivedBlob {
  Rid rid;
  std::string_view hash;
};

using Description = std::optional<std::string>;

Description as_check_in(Database& database, const ArrivedBlob& row) {
  Query query = database.query(
      "SELECT coalesce((SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      "   WHERE rid=event.objid AND tagid=8 AND tagtype>0),'trunk'),"
      " coalesce(euser,user), strftime('%Y-%m-%d %H:%M',mtime)"
      " FROM event WHERE objid=?1 AND type='ci'",
      row.rid);
  if (!query.step()) return std::nullopt;
  return fmt::format("check-in to {} by {} on {}", query.text(0), query.text(1), query.text(2));
}

Description as_file(Database& database, const ArrivedBlob& row) {
  Query query = database.query(
      "SELECT (SELECT name FROM filename WHERE fnid=mlink.fnid) FROM mlink"
      " WHERE fid=?1 AND EXISTS(SELECT 1 FROM event WHERE objid=mlink.mid)"
      " ORDER BY rowid LIMIT 1",
      row.rid);
  if (!query.step()) return std::nullopt;
  return fmt::format("file {}", query.text(0));
}

/// Returns a description of the control artifact in ROW. Returns nullopt if the artifact is not a
/// control artifact, or if its tags are no longer in effect.
Description as_tag(Repository& repository, const ArrivedBlob& row) {
  Database& database = repository.internals().database;
  if (!database.has_row("SELECT 1 FROM event WHERE objid=?1 AND type='g'", row.rid)) {
    return std::nullopt;
  }
  const auto content = repository.content(row.rid);
  if (!content) return std::nullopt;
  const auto control = artifact::parse_structural(*content);
  if (!control) return std::nullopt;
  for (const artifact::TagCard& tag : control->tags) {
    Query query = database.query(
        "SELECT substr(uuid,1,16) FROM blob WHERE uuid=?1 AND rid<>?2"
        " AND EXISTS(SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
        "  WHERE tagxref.rid=blob.rid AND srcid=?2)",
        tag.target, row.rid);
    if (query.step()) {
      return fmt::format("tag {}", query.text(0));
    }
  }
  return std::nullopt;
}

/// Returns the precedence of TAG for determining the kind of an artifact, in fossil's order:
/// cluster, ticket, page, technote.
int rank_of(std::string_view tag) {
  if (tag == "cluster") return 1;
  if (tag.starts_with("tkt-")) return 2;
  if (tag.starts_with("wiki-")) return 3;
  return tag.starts_with("event-") ? 4 : 5;
}

/// Returns a description of a cluster or a document. Such artifacts set a tag on themselves.
Description as_document(Database& database, const ArrivedBlob& row) {
  Query query = database.query(
      "SELECT (SELECT tagname FROM tag WHERE tag.tagid=tagxref.tagid)"
      " FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1",
      row.rid);
  std::string tag;
  while (query.step()) {
    if (rank_of(query.text(0)) < rank_of(tag)) tag = query.text(0);
  }
  switch (rank_of(tag)) {
    case 1:
      return "cluster";
    case 2:
      return fmt::format("ticket {}", tag.substr(4, 21));
    case 3:
      return fmt::format("wiki \"{}\"", tag.substr(5));
    case 4:
      return fmt::format("event {}", tag.substr(6));
    default:
      return std::nullopt;
  }
}

Description as_attachment(Database& database, const ArrivedBlob& row) {
  Query control = database.query("SELECT filename FROM attachment WHERE attachid=?1", row.rid);
  if (control.step()) {
    return fmt::format("attachment-control for {}", control.text(0));
  }
  Query content = database.query(
      "SELECT filename FROM attachment WHERE src=?1 ORDER BY attachid LIMIT 1", row.hash);
  if (!content.step()) return std::nullopt;
  return fmt::format("attachment {}", content.text(0));
}

Description as_post(Database& database, const ArrivedBlob& row) {
  if (!database.has_table("forumpost")) return std::nullopt;
  Query query = database.query(
      "SELECT fpid=froot, substr((SELECT uuid FROM blob WHERE rid=froot),1,14) FROM forumpost"
      " WHERE fpid=?1",
      row.rid);
  if (!query.step()) return std::nullopt;
  return fmt::format("{}{}", query.integer(0) != 0 ? "forum-post " : "forum-reply-to ",
                     query.text(1));
}

std::string describe(Repository& repository, const ArrivedBlob& row) {
  Database& database = repository.internals().database;
  if (auto line = as_check_in(database, row)) return *line;
  if (auto line = as_file(database, row)) return *line;
  if (auto line = as_tag(repository, row)) return *line;
  if (auto line = as_document(database, row)) return *line;
  if (auto line = as_attachment(database, row)) return *line;
  return as_post(database, row).value_or("unknown");
}

}  // namespace

Result<std::int64_t> ReceivedList::last_receipt() {
  return guarded(repository_.internals(), [&](RepositoryState& r) {
    return r.database.first_integer("SELECT max(rcvid) FROM rcvfrom");
  });
}

Result<bool> ReceivedList::has_own(std::int64_t after, std::int64_t up_to) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (!database.has_table("fx_quarry_replica_received")) return true;
    for (std::int64_t receipt = up_to; receipt > after; --receipt) {
      const bool is_own = database.has_row(
          "SELECT 1 FROM rcvfrom WHERE rcvid=?1"
          " AND NOT EXISTS(SELECT 1 FROM fx_quarry_replica_received WHERE rcvid=?1)",
          receipt);
      if (is_own) return true;
    }
    return false;
  });
}

Result<std::int64_t> ReceivedList::first_to_report(std::int64_t after) {
  return guarded(repository_.internals(), [&](auto& r) -> Result<std::int64_t> {
    QUARRY_TRY_ASSIGN(const std::int64_t last, last_receipt());
    Query row = r.database.query("SELECT mtime FROM rcvfrom WHERE rcvid=?1", last);
    if (!row.step()) return after;
    const double newest = row.real(0);
    // Find the first request after AFTER that arrived at most a day before the last request.
    std::int64_t oldest = std::max<std::int64_t>(after, 0);
    for (; oldest < last; ++oldest) {
      row.rewind();
      if (row.bind(oldest).step() && row.real(0) >= newest - 1.0) break;
    }
    return after == 0 || oldest == after ? oldest : oldest - 1;
  });
}

Result<std::string> ReceivedList::lines(std::int64_t after, std::int64_t up_to,
                                        std::size_t max_bytes) {
  return guarded(repository_.internals(), [&](auto& r) -> Result<std::string> {
    std::string lines;
    Query query = r.database.query(
        "SELECT rid, uuid FROM blob INDEXED BY fx_quarry_received WHERE rcvid>?1 AND rcvid<=?2"
        " ORDER BY rid",
        after, up_to);
    while (query.step()) {
      const ArrivedBlob row{query.integer(0), query.text(1)};
      if (is_from_stream(r.database, row.rid)) continue;
      const std::string line = fmt::format("{} {}\n", row.hash, describe(repository_, row));
      if (lines.size() + line.size() > max_bytes) return lines + "...\n";
      lines += line;
    }
    return lines;
  });
}

}  // namespace quarry::repository
