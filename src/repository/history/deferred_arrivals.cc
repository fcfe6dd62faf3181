#include "deferred_arrivals.h"

#include <algorithm>
#include <tuple>

#include "quarry/repository/arrivals.h"
#include "received_rows.h"

namespace quarry::repository {
namespace {

bool has_deferred(Database& database) {
  return database.has_table("fx_quarry_untold");
}

void remove(Database& database, const std::vector<Rid>& rows) {
  Query query = database.query("DELETE FROM fx_quarry_untold WHERE rid=?1");
  for (const Rid rid : rows) query.bind(rid).run();
}

/// The rows of the table, except those that are still private or phantoms, which may be many.
std::vector<Rid> read_deferred(Database& database) {
  return database.integers(
      "SELECT u.rid FROM fx_quarry_untold AS u"
      " WHERE NOT EXISTS(SELECT 1 FROM private WHERE rid=u.rid)"
      " AND NOT EXISTS(SELECT 1 FROM phantom WHERE rid=u.rid)");
}

/// The hash is empty if the row no longer exists in `blob`.
ReceivedRow read_row(Database& database, Rid rid) {
  Query query = database.query("SELECT rcvid, uuid, size FROM blob WHERE rid=?1", rid);
  if (!query.step()) return {.receipt = 0, .rid = rid, .hash = {}, .size = 0};
  return {query.integer(0), rid, std::string(query.text(1)), query.integer(2)};
}

}  // namespace

void add_phantoms(Database& database, std::vector<Rid>& to) {
  Query query = has_deferred(database) ? database.query(
                                             "SELECT p.rid FROM phantom AS p WHERE NOT EXISTS"
                                             "(SELECT 1 FROM fx_quarry_untold WHERE rid=p.rid)")
                                       : database.query("SELECT p.rid FROM phantom AS p");
  while (query.step()) to.push_back(query.integer(0));
}

base::Result<ReadyArrivals> Arrivals::ready(const ArrivalMark& mark, std::size_t limit) {
  return guarded(
      repository_.internals(), [&](RepositoryState& state) -> base::Result<ReadyArrivals> {
        ReadyArrivals ready;
        if (!has_deferred(state.database)) return ready;
        if (state.derivation.has_pending()) state.derivation.run();
        std::vector<ReceivedRow> rows;
        for (const Rid rid : read_deferred(state.database)) {
          ReceivedRow row = read_row(state.database, rid);
          // Artifacts after the mark will be reported with their request.
          if (is_after({row.receipt, row.rid}, mark)) continue;
          const Readiness readiness = readiness_of(state, row);
          if (readiness == Readiness::kNever) ready.finished.push_back(row.rid);
          if (readiness == Readiness::kReady) rows.push_back(std::move(row));
          if (rows.size() >= limit) break;
        }
        std::ranges::sort(rows, {},
                          [](const ReceivedRow& row) { return std::tuple(row.receipt, row.rid); });
        for (const ReceivedRow& row : rows)
          add_received(state, row, ready.received, ready.finished);
        return ready;
      });
}

base::Result<void> Arrivals::defer(const ArrivalBatch& batch) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (!batch.deferred.empty()) {
      database.execute("CREATE TABLE IF NOT EXISTS fx_quarry_untold(rid INTEGER PRIMARY KEY)");
    }
    if (!has_deferred(database)) return;
    // A reported artifact may have been deferred as a phantom.
    remove(database, batch.reported);
    Query query = database.query("INSERT OR IGNORE INTO fx_quarry_untold(rid) VALUES(?1)");
    for (const Rid rid : batch.deferred) query.bind(rid).run();
  });
}

base::Result<void> Arrivals::forget(const ReadyArrivals& ready) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (has_deferred(database)) remove(database, ready.finished);
  });
}

}  // namespace quarry::repository
