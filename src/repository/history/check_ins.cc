#include "quarry/repository/check_ins.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "quarry/artifact/structural.h"
#include "quarry/base/hex.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Shorter prefixes are often ambiguous.
constexpr std::size_t kShortestPrefix = 6;
constexpr std::size_t kLongestPrefix = 64;
// Limit on the check-ins between a tip and an earlier tip, because tags that set parents can make
// circles.
constexpr int kMaxBetween = 100'000;
// Maximum number of descendants that is_ancestor() examines before it examines ancestors.
constexpr std::size_t kFewDescendants = 1'000;

/// Returns the first LIMIT check-ins in ROWS, whose columns are rid and hash.
std::vector<HashName> check_ins_in(RepositoryState& state, Query rows, std::size_t limit) {
  std::vector<HashName> found;
  while (found.size() < limit && rows.step()) {
    const Rid rid = rows.integer(0);
    const auto name = HashName::parse(rows.text(1));
    const bool is_check_in =
        state.database.has_row("SELECT 1 FROM event WHERE objid=?1 AND type='ci'", rid);
    if (name && is_check_in && is_shown(state, rid, name->str())) found.push_back(*name);
  }
  return found;
}

/// Returns at most two check-ins whose hashes begin with DIGITS.
std::vector<HashName> beginning_with(RepositoryState& state, std::string_view digits) {
  const std::string first = lower_hash(digits);
  const std::string beyond = first + 'g';  // sorts after all hex digits
  return check_ins_in(
      state,
      state.database.query("SELECT rid, uuid FROM blob INDEXED BY sqlite_autoindex_blob_1"
                           " WHERE uuid>=?1 AND uuid<?2 AND size>=0 ORDER BY uuid",
                           first, beyond),
      2);
}

/// Returns the latest check-in with the symbolic tag TAG, or an empty list if there is none.
/// Ignores check-ins that receipts after RECEIPT brought.
std::vector<HashName> last_called(RepositoryState& state, std::string_view tag,
                                  std::int64_t receipt) {
  return check_ins_in(
      state,
      state.database.query(
          "SELECT rid, (SELECT uuid FROM blob WHERE rid=tagxref.rid)"
          " FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 AND tagtype>0"
          " AND (SELECT coalesce(rcvid,0) FROM blob WHERE rid=tagxref.rid)<=?2 ORDER BY mtime DESC",
          state.names.find_tag(fmt::format("sym-{}", tag)), receipt),
      1);
}

Result<HashName> tip_of_at(RepositoryState& state, std::string_view branch, std::int64_t receipt) {
  QUARRY_TRY_ASSIGN(const BranchTip tip, tip_of(state, branch));
  Rid rid = state.names.find(tip.name.str());
  for (int i = 0; i < kMaxBetween; ++i) {
    Query row = state.database.query(
        "SELECT coalesce(rcvid,0), uuid,"
        " (SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=blob.rid AND isprim)"
        " FROM blob WHERE rid=?1 AND size>=0",
        rid);
    if (!row.step()) break;
    const auto name = HashName::parse(row.text(1));
    if (name && row.integer(0) <= receipt && is_shown(state, rid, name->str())) return *name;
    rid = row.integer(2);
  }
  return fail(ErrorCode::kNotFound, "branch {} did not exist yet", branch);
}

/// Returns whether the artifact RID was pushed by the user BY or by an administrator. If BY is not
/// a user of this repository, also returns true for artifacts of unknown users.
bool was_brought_by(Repository::State& state, std::int64_t rid, std::string_view by) {
  Query sender = state.database.query(
      "SELECT login, cap FROM user WHERE uid=(SELECT uid FROM rcvfrom WHERE rcvid="
      "(SELECT rcvid FROM blob WHERE rid=?1))",
      rid);
  if (sender.step()) {
    return sender.text(0) == by || sender.text(1).find_first_of("as") != std::string_view::npos;
  }
  return !state.database.has_row("SELECT 1 FROM user WHERE login=?1", by);
}

bool puts_on_itself(Repository::State& state, Rid rid, std::string_view tag) {
  const Manifest manifest = state.manifests.get(rid);
  if (!manifest || manifest->type != artifact::StructuralType::kCheckIn) return false;
  return std::ranges::any_of(manifest->tags, [&](const artifact::TagCard& card) {
    return card.kind != '-' && card.target.empty() && card.name == tag;
  });
}

/// Returns the renames between the primary parent of the check-in RID and RID.
Renames renames_in(RepositoryState& state, Rid rid) {
  Renames renames;
  Query rows = state.database.query(
      "SELECT (SELECT name FROM filename WHERE fnid=pfnid),"
      " (SELECT name FROM filename WHERE fnid=mlink.fnid)"
      " FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND pfnid>0 AND NOT isaux",
      rid);
  while (rows.step()) renames.emplace(rows.text(0), rows.text(1));
  return renames;
}

}  // namespace

Result<BranchTip> CheckIns::tip(std::string_view branch) {
  return guarded(repository_.internals(),
                 [&](RepositoryState& state) { return tip_of(state, branch); });
}

Result<void> CheckIns::require_branch(std::string_view branch) {
  const auto found = tip(branch);
  if (found || found.error().code == ErrorCode::kConflict) return {};
  return std::unexpected(found.error());
}

Result<HashName> CheckIns::tip_at(std::string_view branch, std::int64_t receipt) {
  return guarded(repository_.internals(),
                 [&](RepositoryState& state) { return tip_of_at(state, branch, receipt); });
}

Result<HashName> CheckIns::named(std::string_view name, std::int64_t receipt) {
  return guarded(repository_.internals(), [&](auto& state) -> Result<HashName> {
    if (name.size() >= kShortestPrefix && name.size() <= kLongestPrefix && base::is_hex(name)) {
      const std::vector<HashName> found = beginning_with(state, name);
      if (found.size() == 1) return found.front();
      if (found.size() > 1) {
        return fail(ErrorCode::kInvalid,
                    "{} is an ambiguous prefix of a check-in hash: use more digits", name);
      }
    }
    if (auto tip = tip_of_at(state, name, receipt)) return tip;
    if (const auto called = last_called(state, name, receipt); !called.empty()) {
      return called.front();
    }
    return fail(ErrorCode::kNotFound, "check-in {} does not exist", name);
  });
}

Result<std::vector<HashName>> CheckIns::with_tag(std::string_view tag, std::string_view by,
                                                 std::size_t limit) {
  using Found = std::vector<HashName>;
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    Found found;
    const std::int64_t number = state.names.find_tag(tag);
    if (number == 0) return found;
    Query rows = state.database.query(
        "SELECT rid, (SELECT uuid FROM blob WHERE rid=tagxref.rid)"
        " FROM tagxref INDEXED BY tagxref_i1 WHERE tagid=?1 ORDER BY mtime DESC",
        number);
    for (std::size_t seen = 0; seen < limit && rows.step(); ++seen) {
      const auto name = HashName::parse(rows.text(1));
      if (!name || !is_shown(state, rows.integer(0), name->str())) continue;
      if (!was_brought_by(state, rows.integer(0), by)) continue;
      if (puts_on_itself(state, rows.integer(0), tag)) found.push_back(*name);
    }
    return found;
  });
}

Renames joined(Renames earlier, Renames later) {
  for (auto& [old_name, name] : earlier) {
    const auto again = later.find(name);
    if (again == later.end()) continue;
    name = std::move(again->second);
    later.erase(again);
  }
  earlier.merge(later);
  return earlier;
}

Result<bool> CheckIns::is_ancestor(const HashName& from, const HashName& to, std::size_t limit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    const Rid first = state.names.find(from.str()), last = state.names.find(to.str());
    // Examine descendants first, because a check-in to merge usually has few descendants, but TO
    // has many ancestors.
    const auto few = static_cast<std::int64_t>(std::min(limit, kFewDescendants));
    Query descendants = state.database.query(
        "WITH RECURSIVE line(rid) AS ("
        " SELECT ?1 UNION SELECT cid FROM line, plink INDEXED BY sqlite_autoindex_plink_1"
        " WHERE pid=line.rid LIMIT ?3) SELECT count(*), max(rid=?2) FROM line",
        first, last, few);
    if (descendants.step() && descendants.integer(1) != 0) return true;
    if (descendants.integer(0) < few) return false;
    return state.database.has_row(
        "WITH RECURSIVE line(rid) AS ("
        " SELECT ?2 UNION SELECT pid FROM line, plink INDEXED BY plink_i2 WHERE cid=line.rid"
        " LIMIT ?3) SELECT 1 FROM line WHERE rid=?1",
        first, last, static_cast<std::int64_t>(limit));
  });
}

Result<Renames> CheckIns::renames(const HashName& from, const HashName& to, std::size_t limit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    Renames all;
    const Rid first = state.names.find(from.str());
    Rid rid = state.names.find(to.str());
    for (std::size_t count = 0; rid != first; ++count) {
      const Rid parent = state.database.first_integer(
          "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND isprim", rid);
      if (parent == 0 || count == limit) return Renames();
      all = joined(renames_in(state, rid), std::move(all));
      rid = parent;
    }
    return all;
  });
}

}  // namespace quarry::repository
