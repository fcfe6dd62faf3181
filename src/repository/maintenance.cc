#include "quarry/repository/maintenance.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/artifact/hash_name.h"
#include "quarry/repository/receipt.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kMaxReportedDamage = 100;
// Number of rows to sample per index: sufficient for good query plans, but still fast.
constexpr const char* kAnalysisLimit = "PRAGMA analysis_limit=1000";
// Number of row ids per step. Other connections can write between two steps.
constexpr std::size_t kRowsAtOnce = 200;

/// A kind of rows that prune() deletes. A separate statement counts the rows in advance, because
/// usually no rows have to be deleted.
struct Pruned {
  const char* count;
  const char* remove;
  double oldest;  // rows that are older than this are deleted
};
constexpr const char* kCountLocks =
    "SELECT count(*) FROM config WHERE name GLOB 'ci-lock-*' AND mtime<?1";
constexpr const char* kRemoveLocks = "DELETE FROM config WHERE name GLOB 'ci-lock-*' AND mtime<?1";
constexpr const char* kCountLogins = "SELECT count(*) FROM accesslog WHERE mtime<?1";
constexpr const char* kRemoveLogins = "DELETE FROM accesslog WHERE mtime<?1";

bool has_any(Database& database, const Pruned& pruned) {
  return database.first_integer(pruned.count, pruned.oldest) > 0;
}

struct CheckedRow {
  Rid rid;
  std::optional<artifact::HashName> name;  // nullopt if it is not a valid name
};

/// Some rows of `blob`, in rid order.
struct Rows {
  std::vector<CheckedRow> rows;
  Rid next = 0;  // row with which to continue; 0 at the end
};

/// Returns rows, beginning with FIRST. Each row is looked up by its id. With a range query, SQLite
/// scans the whole table if its statistics say that the table is tiny.
Rows rows_from(Database& database, Rid first) {
  const Rid last = database.first_integer("SELECT max(rid) FROM blob");
  Rows found{.rows = {}, .next = first};
  Query row = database.query("SELECT uuid FROM blob WHERE rid=?1 AND size>=0");
  const Rid up_to = std::min(last, first + static_cast<Rid>(kRowsAtOnce) - 1);
  for (; found.next <= up_to; ++found.next) {
    row.rewind();
    if (!row.bind(found.next).step()) continue;
    found.rows.push_back({found.next, artifact::HashName::parse(row.text(0))});
  }
  if (found.next > last) {
    found.next = 0;
  } else if (found.rows.empty()) {
    // Skip the unused row ids, because there can be many.
    found.next = database.first_integer("SELECT min(rid) FROM blob WHERE rid>?1", up_to);
  }
  return found;
}

/// Returns a description of the damage to an artifact, or an empty string if it is not damaged.
std::string what_is_wrong(Repository& repository, const CheckedRow& row) {
  if (!row.name) return fmt::format("artifact {}: its name is not a hash", row.rid);
  const auto content = repository.content(row.rid);
  // A delta that arrived before its source is not damaged.
  if (!content && repository.internals().waiting_ones().contains(row.rid)) return {};
  if (!content) return fmt::format("{}: {}", row.name->str(), content.error().message);
  if (row.name->names(*content)) return {};
  return fmt::format("{}: its content does not match its hash", row.name->str());
}

}  // namespace

Result<std::size_t> Maintenance::prune(std::chrono::hours access_log_kept) {
  Repository::State& r = repository_.internals();
  const std::int64_t now = r.options.clock->now().value;
  std::vector<Pruned> all;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    const std::int64_t lock_time =
        repository_.settings().get_int("lock-timeout", kCheckInLockSeconds);
    all.push_back({kCountLocks, kRemoveLocks, static_cast<double>(now / 1000 - lock_time)});
    if (r.database.has_table("accesslog")) {
      const auto kept = std::chrono::milliseconds(access_log_kept).count();
      all.push_back({kCountLogins, kRemoveLogins, base::julian_day({now - kept})});
    }
    std::erase_if(all, [&](const Pruned& pruned) { return !has_any(r.database, pruned); });
  }
  if (all.empty()) return std::size_t{0};
  QUARRY_TRY_ASSIGN(auto receipt, repository_.receive());
  std::size_t gone = 0;
  for (const Pruned& pruned : all) {
    r.database.execute(pruned.remove, pruned.oldest);
    gone += static_cast<std::size_t>(r.database.changes());
  }
  QUARRY_TRY(receipt.commit());
  return gone;
}

Result<void> Maintenance::optimize() {
  return guarded(repository_.internals(), [&](RepositoryState& r) {
    r.wait_for_checkpoint();
    r.database.execute(kAnalysisLimit);
    r.database.execute("PRAGMA optimize");
  });
}

Result<VerifiedSlice> Maintenance::verify(Rid first, const std::function<bool()>& is_over) {
  Repository::State& r = repository_.internals();
  VerifiedSlice slice{.next = first};
  const auto complain = [&slice](std::string what) {
    if (slice.damage.size() < kMaxReportedDamage) slice.damage.push_back(std::move(what));
  };
  while (!is_over()) {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    const Rows found = rows_from(r.database, slice.next);
    for (const CheckedRow& row : found.rows) {
      if (is_over()) return slice;
      if (auto wrong = what_is_wrong(repository_, row); !wrong.empty()) complain(std::move(wrong));
      ++slice.artifacts;
      slice.next = row.rid + 1;
    }
    slice.next = found.next;
    if (found.next == 0) break;
  }
  return slice;
}

}  // namespace quarry::repository
