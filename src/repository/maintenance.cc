#include "quarry/repository/maintenance.h"

#include <fmt/core.h>

#include "quarry/artifact/hash_name.h"
#include "quarry/repository/receipt.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kMostDamage = 100;
// Rows that are counted for an index: enough for a plan, and done in a moment.
constexpr const char* kAnalysisLimit = "PRAGMA analysis_limit=1000";
// Rows at once: between two such steps others may write.
constexpr std::size_t kRowsAtOnce = 200;

/// The rows that are to go, in a table with a time.
struct Pruned {
  const char* table;
  std::string where;  // with ?1 for the oldest time that stays
  double oldest;
};

std::int64_t count(Database& database, const Pruned& pruned) {
  Query query = database.query_once(
      fmt::format("SELECT count(*) FROM {} WHERE {}", pruned.table, pruned.where));
  query.bind(1, pruned.oldest);
  return query.step() ? query.integer(0) : 0;
}

struct Row {
  Rid rid;
  std::optional<artifact::HashName> name;  // nothing: what stands there is none
};

std::vector<Row> rows_from(Database& database, Rid first) {
  std::vector<Row> rows;
  Query query =
      database.query("SELECT rid, uuid FROM blob WHERE rid>=?1 AND size>=0 ORDER BY rid LIMIT ?2");
  query.bind(1, first).bind(2, static_cast<std::int64_t>(kRowsAtOnce));
  while (query.step()) {
    rows.push_back({query.integer(0), artifact::HashName::parse(query.text(1))});
  }
  return rows;
}

/// "": nothing.
std::string what_is_wrong(Repository& repository, const Row& row) {
  if (!row.name) return fmt::format("artifact {}: its name is no hash", row.rid);
  const auto content = repository.content(row.rid);
  if (!content) return fmt::format("{}: {}", row.name->str(), content.error().message);
  if (row.name->names(*content)) return {};
  return fmt::format("{}: its content has another hash", row.name->str());
}

}  // namespace

base::Result<std::size_t> Maintenance::prune(std::chrono::hours access_log_kept) {
  Repository::State& r = repository_.internals();
  const std::int64_t now = r.options.clock->now().value;
  std::vector<Pruned> all;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    const std::int64_t lock_time =
        repository_.settings().get_int("lock-timeout", kCheckInLockSeconds);
    all.push_back({"config", "name GLOB 'ci-lock-*' AND mtime<?1",
                   static_cast<double>(now / 1000 - lock_time)});
    if (r.database.has_table("accesslog")) {
      const auto kept = std::chrono::milliseconds(access_log_kept).count();
      all.push_back({"accesslog", "mtime<?1", base::julian_day({now - kept})});
    }
    std::erase_if(all, [&](const Pruned& pruned) { return count(r.database, pruned) == 0; });
  }
  if (all.empty()) return std::size_t{0};
  QUARRY_TRY_ASSIGN(auto receipt, repository_.receive());
  std::size_t gone = 0;
  for (const Pruned& pruned : all) {
    Query query =
        r.database.query_once(fmt::format("DELETE FROM {} WHERE {}", pruned.table, pruned.where));
    query.bind(1, pruned.oldest).run();
    gone += static_cast<std::size_t>(r.database.changes());
  }
  QUARRY_TRY(receipt.commit());
  return gone;
}

base::Result<void> Maintenance::optimize() {
  Repository::State& r = repository_.internals();
  return guarded(r.path, [&]() -> base::Result<void> {
    r.pass_gate();
    r.database.execute(kAnalysisLimit);
    r.database.execute("PRAGMA optimize");
    return {};
  });
}

base::Result<VerifiedSlice> Maintenance::verify(Rid first, const std::function<bool()>& is_over) {
  Repository::State& r = repository_.internals();
  VerifiedSlice slice{.next = first, .artifacts = 0, .damage = {}};
  const auto complain = [&slice](std::string what) {
    if (slice.damage.size() < kMostDamage) slice.damage.push_back(std::move(what));
  };
  while (!is_over()) {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    const std::vector<Row> rows = rows_from(r.database, slice.next);
    for (const Row& row : rows) {
      if (is_over()) return slice;
      if (auto wrong = what_is_wrong(repository_, row); !wrong.empty()) complain(std::move(wrong));
      ++slice.artifacts;
      slice.next = row.rid + 1;
    }
    if (rows.size() < kRowsAtOnce) {
      slice.next = 0;
      break;
    }
  }
  return slice;
}

}  // namespace quarry::repository
