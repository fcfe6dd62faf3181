#include "quarry/repository/arrivals.h"

#include <algorithm>
#include <limits>

#include "deferred_arrivals.h"
#include "received_rows.h"

namespace quarry::repository {

namespace {

// This many requests before the last reported one may still bring artifacts.
constexpr std::int64_t kOpenRequests = 100;

bool has_index(Database& database) {
  return database.has_row("SELECT 1 FROM sqlite_schema WHERE name='fx_quarry_received'");
}

void read_rows(Query& query, std::vector<ReceivedRow>& rows) {
  while (query.step()) {
    rows.push_back(
        {query.integer(0), query.integer(1), std::string(query.text(2)), query.integer(3)});
  }
}

/// At most LIMIT rows after MARK: the rest of its receipt, and those of later ones. (A single
/// comparison of both numbers would scan the part of a large receipt that was already seen.)
std::vector<ReceivedRow> rows_after(Database& database, const ArrivalMark& mark,
                                    std::size_t limit) {
  std::vector<ReceivedRow> rows;
  // Phantoms have receipt 0.
  if (mark.receipt > 0) {
    Query same = database.query(
        "SELECT rcvid, rid, uuid, size FROM blob INDEXED BY fx_quarry_received"
        " WHERE rcvid=?1 AND rid>?2 ORDER BY rid LIMIT ?3",
        mark.receipt, mark.artifact, limit);
    read_rows(same, rows);
  }
  if (rows.size() >= limit) return rows;
  Query later = database.query(
      "SELECT rcvid, rid, uuid, size FROM blob INDEXED BY fx_quarry_received"
      " WHERE rcvid>?1 ORDER BY rcvid, rid LIMIT ?2",
      std::max<std::int64_t>(mark.receipt, 0), limit - rows.size());
  read_rows(later, rows);
  return rows;
}

/// Adds rows that arrived after MARK was saved, but belong to requests up to that of MARK.
void add_late_rows(Database& database, const ArrivalMark& mark, std::vector<Rid>& to) {
  if (mark.seen == 0) return;
  Query query = database.query(
      "SELECT rid FROM blob INDEXED BY fx_quarry_received WHERE rcvid=?1 AND rid>?2");
  const std::int64_t first = std::max<std::int64_t>(mark.receipt - kOpenRequests, 1);
  for (std::int64_t receipt = first; receipt <= mark.receipt; ++receipt) {
    query.rewind();
    query.bind(receipt, mark.seen);
    while (query.step()) {
      const ArrivalMark position{receipt, query.integer(0)};
      if (!is_after(position, mark)) to.push_back(position.artifact);
    }
  }
}

/// The highest rid.
Rid last_row(Database& database) {
  return database.first_integer("SELECT max(rid) FROM blob");
}

void add(Repository::State& state, const ReceivedRow& row, ArrivalBatch& batch) {
  switch (readiness_of(state, row)) {
    case Readiness::kReady:
      return add_received(state, row, batch.received, batch.reported);
    case Readiness::kNotYet:
      return batch.deferred.push_back(row.rid);
    case Readiness::kNever:
      return;
  }
}

}  // namespace

base::Result<void> Arrivals::prepare() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    if (has_index(state.database)) return;
    state.wait_for_checkpoint();
    Transaction transaction(state.database, Transaction::Kind::kWrite);
    state.database.execute("CREATE INDEX IF NOT EXISTS fx_quarry_received ON blob(rcvid)");
    transaction.commit();
  });
}

base::Result<ArrivalMark> Arrivals::end() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    const std::int64_t last = state.database.first_integer("SELECT max(rcvid) FROM rcvfrom");
    // A completed request brings no more artifacts.
    return ArrivalMark{last, std::numeric_limits<std::int64_t>::max(), last_row(state.database)};
  });
}

base::Result<ArrivalBatch> Arrivals::after(const ArrivalMark& mark, std::size_t limit) {
  return guarded(repository_.internals(),
                 [&](RepositoryState& state) -> base::Result<ArrivalBatch> {
                   if (!has_index(state.database)) {
                     return base::fail(base::ErrorCode::kInvalid, "what came has no index yet");
                   }
                   if (state.derivation.has_pending()) state.derivation.run();
                   limit = std::max<std::size_t>(limit, 1);
                   const std::vector<ReceivedRow> rows = rows_after(state.database, mark, limit);
                   ArrivalBatch batch;
                   batch.mark = mark;
                   batch.is_at_end = rows.size() < limit;
                   const Rid last = last_row(state.database);
                   if (rows.empty() && last == mark.seen) return batch;
                   add_late_rows(state.database, mark, batch.deferred);
                   add_phantoms(state.database, batch.deferred);
                   for (const ReceivedRow& row : rows) {
                     add(state, row, batch);
                     batch.mark = {row.receipt, row.rid};
                   }
                   batch.mark.seen = last;
                   return batch;
                 });
}

}  // namespace quarry::repository
