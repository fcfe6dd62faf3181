#include "timeline_rows.h"

#include <algorithm>

namespace quarry::repository {

using artifact::HashName;

namespace {

// Maximum number of tags reported for a check-in.
constexpr std::size_t kMaxReceivedTags = 100;

ArtifactKind kind_of_type(std::string_view type) {
  if (type == "ci") return ArtifactKind::kCheckIn;
  if (type == "w") return ArtifactKind::kWiki;
  if (type == "t") return ArtifactKind::kTicket;
  if (type == "e") return ArtifactKind::kTechnote;
  if (type == "f") return ArtifactKind::kForum;
  return type == "g" ? ArtifactKind::kControl : ArtifactKind::kData;
}

bool has_tag(Database& database, Rid rid, PredefinedTag tag) {
  return database.has_row(
      "SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE rid=?1 AND tagid=?2 AND tagtype>0",
      rid, tag);
}

/// Returns whether RID is a version of a technote. Checks tags, because earlier versions are not in
/// the timeline.
bool is_technote(Database& database, Rid rid) {
  return database.has_row(
      "SELECT 1 FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE tagxref.rid=?1 AND srcid=?1 AND EXISTS(SELECT 1 FROM tag"
      "  WHERE tagid=tagxref.tagid AND tagname GLOB 'event-*')",
      rid);
}

}  // namespace

bool is_public(Repository::State& state, Rid rid, std::string_view hash) {
  return !state.privacy.is_private(rid) &&
         !state.database.has_row("SELECT 1 FROM shun WHERE uuid=?1", hash);
}

bool is_shown(Repository::State& state, Rid rid, std::string_view hash) {
  const auto& waiting = state.waiting_ones();
  return (waiting.empty() || !waiting.contains(rid)) && is_public(state, rid, hash);
}

std::optional<TimelineEntry> timeline_entry(Repository::State& state, Rid rid,
                                            const HashName& name) {
  Query query = state.database.query(
      "SELECT type, mtime, coalesce(euser,user), coalesce(ecomment,comment),"
      " (SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      "   WHERE rid=objid AND tagid=8 AND tagtype>0)"
      " FROM event WHERE objid=?1",
      rid);
  if (!query.step()) return std::nullopt;
  return TimelineEntry{.name = name,
                       .kind = kind_of_type(query.text(0)),
                       .time = base::from_julian_day(query.real(1)),
                       .user = std::string(query.text(2)),
                       .comment = std::string(query.text(3)),
                       .branch = std::string(query.text(4))};
}

ArtifactKind kind_of(Repository::State& state, Rid rid, const std::optional<TimelineEntry>& entry) {
  // Only these two kinds are certain. A row of any other kind might belong to an attachment,
  // because the row of an attachment has the type of the attachment's target.
  if (entry && (entry->kind == ArtifactKind::kCheckIn || entry->kind == ArtifactKind::kForum)) {
    return entry->kind;
  }
  if (state.database.has_row("SELECT 1 FROM attachment WHERE attachid=?1", rid)) {
    return ArtifactKind::kAttachment;
  }
  if (entry) return entry->kind;
  if (has_tag(state.database, rid, kTagCluster)) return ArtifactKind::kCluster;
  return is_technote(state.database, rid) ? ArtifactKind::kTechnote : ArtifactKind::kData;
}

ReceivedArtifact describe(Repository::State& state, Rid rid, const HashName& name,
                          std::int64_t size) {
  std::optional<TimelineEntry> entry = timeline_entry(state, rid, name);
  const ArtifactKind kind = kind_of(state, rid, entry);
  if (entry) entry->kind = kind;
  std::vector<std::string> tags;
  if (kind == ArtifactKind::kCheckIn) tags = state.names.symbolic_tags(rid, kMaxReceivedTags);
  return {
      .name = name, .size = size, .kind = kind, .entry = std::move(entry), .tags = std::move(tags)};
}

std::vector<Leaf> leaves_of(Repository::State& state, std::optional<std::string_view> branch) {
  std::vector<Leaf> leaves;
  Query rows = state.database.query(
      "SELECT rid, (SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      "  WHERE rid=leaf.rid AND tagid=8 AND tagtype>0) FROM leaf");
  while (rows.step()) {
    // As in fossil, a check-in without a branch tag belongs to trunk.
    const std::string_view its_branch = rows.is_null(1) ? "trunk" : rows.text(1);
    if (branch && its_branch != *branch) continue;
    Query shown = state.database.query("SELECT mtime FROM event WHERE objid=?1", rows.integer(0));
    if (!shown.step() || shown.is_null(0)) continue;
    leaves.push_back({rows.integer(0), std::string(its_branch), shown.real(0)});
  }
  std::ranges::sort(leaves, [](const Leaf& a, const Leaf& b) {
    return a.day != b.day ? a.day > b.day : a.rid > b.rid;
  });
  return leaves;
}

std::optional<ShownLeaf> show(Repository::State& state, const Leaf& leaf) {
  const auto name = HashName::parse(state.names.hash_of(leaf.rid));
  if (!name || !is_shown(state, leaf.rid, name->str())) return std::nullopt;
  return ShownLeaf{*name, has_tag(state.database, leaf.rid, kTagClosed)};
}

Result<BranchTip> tip_of(RepositoryState& state, std::string_view branch) {
  std::optional<BranchTip> tip;
  bool is_there = false;
  for (const Leaf& leaf : leaves_of(state, branch)) {
    const auto shown = show(state, leaf);
    is_there |= shown.has_value();
    if (!shown || shown->is_closed) continue;
    if (tip) {
      ++tip->open_leaves;
    } else {
      tip = BranchTip{shown->name, base::from_julian_day(leaf.day), 1};
    }
  }
  if (tip) return *tip;
  if (is_there) {
    return fail(ErrorCode::kConflict, "the branch {} is closed", branch);
  }
  return fail(ErrorCode::kNotFound, "branch {} does not exist", branch);
}

}  // namespace quarry::repository
