#include "quarry/repository/project_history.h"

#include <unordered_set>

#include "derived/ancestry/tag_entries.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Maximum number of rows that one call skips because they are private or of another kind.
constexpr std::size_t kMaxSkipped = 100000;

// Maximum number of cards that are searched for the last card that set a tag.
constexpr int kCardsOfTag = 20;

/// Returns the artifact on which TAG was set last, or nullopt if the tag propagates.
std::optional<HashName> target_of(Repository::State& state, std::int64_t tag) {
  Query query = state.database.query(
      "SELECT tagtype, rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 ORDER BY mtime DESC",
      tag);
  for (int card = 0; card < kCardsOfTag && query.step(); ++card) {
    if (query.integer(0) == kPropagatingTag) break;
    if (query.integer(0) != kSingleTag) continue;
    const auto name = HashName::parse(state.names.hash_of(query.integer(1)));
    if (name && is_shown(state, query.integer(1), name->str())) return name;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<TimelineEntry>> ProjectHistory::check_ins(std::size_t limit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    std::vector<TimelineEntry> entries;
    Query rows = state.database.query(
        "SELECT objid, type, (SELECT uuid FROM blob WHERE rid=objid)"
        " FROM event INDEXED BY event_i1 ORDER BY mtime DESC");
    for (std::size_t skipped = 0; entries.size() < limit && skipped < kMaxSkipped && rows.step();
         ++skipped) {
      if (rows.text(1) != "ci") continue;
      const auto name = HashName::parse(rows.text(2));
      if (!name || !is_shown(state, rows.integer(0), name->str())) continue;
      auto entry = timeline_entry(state, rows.integer(0), *name);
      if (!entry) continue;
      entries.push_back(std::move(*entry));
      --skipped;
    }
    return entries;
  });
}

Result<std::vector<Branch>> ProjectHistory::branches(std::size_t limit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    std::vector<Branch> branches;
    std::unordered_set<std::string> known;
    for (const Leaf& leaf : leaves_of(state)) {
      if (branches.size() == limit) break;
      if (known.contains(leaf.branch)) continue;
      const auto shown = show(state, leaf);
      if (!shown) continue;
      known.insert(leaf.branch);
      branches.push_back(
          {leaf.branch, shown->name, base::from_julian_day(leaf.day), shown->is_closed});
    }
    return branches;
  });
}

Result<std::vector<Tag>> ProjectHistory::tags(std::size_t limit) {
  constexpr std::string_view kPrefix = "sym-";
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    std::vector<Tag> tags;
    Query names = state.database.query(
        "SELECT tagid, tagname FROM tag INDEXED BY sqlite_autoindex_tag_1"
        " WHERE tagname>'sym-' AND tagname<'sym.' ORDER BY tagname");
    while (tags.size() < limit && names.step()) {
      if (const auto target = target_of(state, names.integer(0))) {
        tags.push_back({std::string(names.text(1).substr(kPrefix.size())), *target});
      }
    }
    return tags;
  });
}

}  // namespace quarry::repository
