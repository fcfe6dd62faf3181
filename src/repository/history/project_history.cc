#include "quarry/repository/project_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "derived/ancestry/tag_entries.h"
#include "quarry/artifact/structural.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;
using base::ErrorCode;

namespace {

// At most this many private rows, or rows of other kinds, are skipped in one call.
constexpr std::size_t kMostSkipped = 100000;

// Number of cards searched for the last one that set a tag.
constexpr int kCardsOfTag = 20;

/// The artifact on which TAG was set last; empty if the tag propagates.
std::optional<HashName> target_of(Repository::State& state, std::int64_t tag) {
  Query query = state.database.query(
      "SELECT tagtype, rid FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 ORDER BY mtime DESC");
  query.bind(1, tag);
  for (int card = 0; card < kCardsOfTag && query.step(); ++card) {
    if (query.integer(0) == kPropagatingTag) break;
    if (query.integer(0) != kSingleTag) continue;
    const auto name = HashName::parse(state.names.hash_of(query.integer(1)));
    if (name && is_shown(state, query.integer(1), name->str())) return name;
  }
  return std::nullopt;
}

CheckInFile::Permission permission_of(const artifact::FileCard& file) {
  if (file.permission == 'x') return CheckInFile::Permission::kExecutable;
  return file.permission == 'l' ? CheckInFile::Permission::kLink : CheckInFile::Permission::kNormal;
}

/// A manifest, and the text that it points into.
struct ParsedManifest {
  Content text;
  artifact::Structural parsed;
};

std::optional<ParsedManifest> check_in_manifest(Repository::State& state, std::string_view hash) {
  const Rid rid = state.names.find(hash);
  if (rid == 0 || !is_shown(state, rid, hash)) return std::nullopt;
  const auto content = state.contents.get(rid);
  if (!content) return std::nullopt;
  auto parsed = artifact::parse_structural(**content);
  if (!parsed || parsed->type != artifact::StructuralType::kCheckIn) return std::nullopt;
  return ParsedManifest{*content, std::move(*parsed)};
}

/// The files in MANIFEST's F cards, which take precedence, and in BASELINE's, by name.
std::vector<const artifact::FileCard*> files_of(const ParsedManifest& manifest,
                                                const std::optional<ParsedManifest>& baseline) {
  std::vector<const artifact::FileCard*> files;
  for (const artifact::FileCard& file : manifest.parsed.files) files.push_back(&file);
  if (baseline) {
    for (const artifact::FileCard& file : baseline->parsed.files) files.push_back(&file);
  }
  std::ranges::stable_sort(files, {}, [](const auto* file) { return file->name; });
  const auto [first, last] =
      std::ranges::unique(files, {}, [](const auto* file) { return file->name; });
  files.erase(first, last);
  // A card without a hash removes a file of the baseline.
  std::erase_if(files, [](const auto* file) { return file->hash.empty(); });
  return files;
}

}  // namespace

base::Result<std::vector<TimelineEntry>> ProjectHistory::timeline(std::size_t limit, Which which) {
  using Entries = std::vector<TimelineEntry>;
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<Entries> {
    Entries entries;
    Query rows = state.database.query(
        "SELECT objid, type, (SELECT uuid FROM blob WHERE rid=objid)"
        " FROM event INDEXED BY event_i1 ORDER BY mtime DESC");
    std::size_t skipped = 0;
    while (entries.size() < limit && skipped < kMostSkipped && rows.step()) {
      const Rid rid = rows.integer(0);
      ++skipped;
      if (which == Which::kCheckIns && rows.text(1) != "ci") continue;
      const auto name = HashName::parse(rows.text(2));
      if (!name || !is_shown(state, rid, name->str())) continue;
      auto entry = timeline_entry(state, rid, *name);
      if (!entry) continue;
      entry->kind = kind_of(state, rid, entry);
      entries.push_back(std::move(*entry));
      --skipped;
    }
    return entries;
  });
}

base::Result<std::vector<Branch>> ProjectHistory::branches(std::size_t limit) {
  using Branches = std::vector<Branch>;
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<Branches> {
    Branches branches;
    std::unordered_map<std::string, std::size_t> places;
    for (const Leaf& leaf : leaves_of(state)) {
      const auto known = places.find(leaf.branch);
      const bool is_known = known != places.end();
      if (is_known ? branches[known->second].open_tip.has_value() : branches.size() == limit) {
        continue;
      }
      const auto shown = show(state, leaf);
      if (!shown) continue;
      if (!is_known) {
        places.emplace(leaf.branch, branches.size());
        branches.push_back({.name = leaf.branch,
                            .tip = shown->name,
                            .changed = base::from_julian_day(leaf.day),
                            .is_closed = shown->is_closed,
                            .open_tip = std::nullopt});
      }
      Branch& branch = is_known ? branches[known->second] : branches.back();
      if (!shown->is_closed) branch.open_tip = shown->name;
    }
    return branches;
  });
}

base::Result<std::vector<Tag>> ProjectHistory::tags(std::size_t limit, std::string_view after) {
  using TagList = std::vector<Tag>;
  constexpr std::string_view kPrefix = "sym-";
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<TagList> {
    TagList tags;
    Query names = state.database.query(
        "SELECT tagid, tagname FROM tag INDEXED BY sqlite_autoindex_tag_1"
        " WHERE tagname>?1 AND tagname<'sym.' ORDER BY tagname");
    const std::string from = std::string(kPrefix) + std::string(after);
    names.bind(1, std::string_view(from));
    while (tags.size() < limit && names.step()) {
      if (const auto target = target_of(state, names.integer(0))) {
        tags.push_back({std::string(names.text(1).substr(kPrefix.size())), *target});
      }
    }
    return tags;
  });
}

base::Result<std::vector<CheckInFile>> ProjectHistory::files(const HashName& check_in,
                                                             std::size_t limit,
                                                             std::string_view after) {
  using Found = std::vector<CheckInFile>;
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<Found> {
    const auto none = [&] {
      return base::fail(ErrorCode::kNotFound,
                        fmt::format("there is no check-in {}", check_in.str()));
    };
    const auto manifest = check_in_manifest(state, check_in.str());
    if (!manifest) return none();
    std::optional<ParsedManifest> baseline;
    if (manifest->parsed.is_delta_manifest()) {
      baseline = check_in_manifest(state, manifest->parsed.baseline);
      if (!baseline) return none();
    }
    const auto cards = files_of(*manifest, baseline);
    Found files;
    for (auto card = std::ranges::upper_bound(cards, after, {},
                                              [](const auto* file) { return file->name; });
         card != cards.end() && files.size() < limit; ++card) {
      const auto hash = HashName::parse((*card)->hash);
      if (!hash) continue;
      const auto found = repository_.find(*hash);
      const bool is_here = found && !found->is_phantom();
      files.push_back({std::string((*card)->name), permission_of(**card), *hash,
                       is_here ? std::optional(found->size) : std::nullopt});
    }
    return files;
  });
}

}  // namespace quarry::repository
