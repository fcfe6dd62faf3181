#include "quarry/repository/arrivals.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "repository_state.h"
#include "store/stream_origin.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Maximum number of requests before the last reported request that are searched for late artifacts.
constexpr std::int64_t kOpenRequests = 100;

struct ReceivedRow {
  std::int64_t receipt = 0;
  Rid rid = 0;
  std::string hash = {};
  std::int64_t size = 0;  // negative for a phantom
};

enum class Readiness {
  kReady,
  kNotYet,  // the artifact is incomplete or private
  kNever    // the artifact is shunned or from another host, or the row is not an artifact
};

/// Returns whether the check-in RID is waiting for its baseline.
bool is_orphan(Database& database, Rid rid) {
  return database.has_row("SELECT 1 FROM orphan WHERE rid=?1", rid);
}

bool is_shunned(Database& database, std::string_view hash) {
  return database.has_row("SELECT 1 FROM shun WHERE uuid=?1", hash);
}

Received sender_of(Database& database, std::int64_t receipt) {
  Received received{.receipt = receipt};
  Query query = database.query(
      "SELECT mtime, ipaddr, (SELECT login FROM user WHERE uid=rcvfrom.uid) FROM rcvfrom"
      " WHERE rcvid=?1",
      receipt);
  if (!query.step()) return received;
  received.time = base::from_julian_day(query.real(0));
  received.address = query.text(1);
  received.login = query.text(2);
  return received;
}

bool is_after(const ArrivalMark& position, const ArrivalMark& mark) {
  return std::tie(position.receipt, position.artifact) > std::tie(mark.receipt, mark.artifact);
}

Readiness readiness_of(Repository::State& state, const ReceivedRow& row) {
  if (!HashName::parse(row.hash) || is_shunned(state.database, row.hash) ||
      is_from_stream(state.database, row.rid)) {
    return Readiness::kNever;
  }
  const bool lacks_something =
      row.size < 0 || state.waiting_ones().contains(row.rid) || is_orphan(state.database, row.rid);
  if (lacks_something || state.privacy.is_private(row.rid)) return Readiness::kNotYet;
  return Readiness::kReady;
}

/// Adds ROW to RECEIVED. Creates a new element if the last element is for another request.
void add_received(Repository::State& state, const ReceivedRow& row, std::vector<Received>& received,
                  std::vector<Rid>& reported) {
  const auto name = HashName::parse(row.hash);
  if (!name) return;
  if (received.empty() || received.back().receipt != row.receipt) {
    received.push_back(sender_of(state.database, row.receipt));
  }
  received.back().artifacts.push_back(describe(state, row.rid, *name, row.size));
  received.back().pushed.push_back(row.rid);
  reported.push_back(row.rid);
}

bool has_index(Database& database) {
  return database.has_row("SELECT 1 FROM sqlite_schema WHERE name='fx_quarry_received'");
}

void read_rows(Query& query, std::vector<ReceivedRow>& rows) {
  while (query.step()) {
    rows.push_back(
        {query.integer(0), query.integer(1), std::string(query.text(2)), query.integer(3)});
  }
}

/// Returns at most LIMIT rows of `blob` after MARK: first the remaining rows of the request in
/// MARK, then the rows of later requests. Uses two queries: for a single condition on rcvid and
/// rid, SQLite would scan rows that have already been read.
std::vector<ReceivedRow> rows_after(Database& database, const ArrivalMark& mark,
                                    std::size_t limit) {
  std::vector<ReceivedRow> rows;
  // Receipt 0 stands for phantoms and not for a request, so there are no remaining rows.
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

/// Adds rows that arrived after MARK was saved, but belong to the request in MARK or to an earlier
/// request.
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

bool has_deferred(Database& database) {
  return database.has_table("fx_quarry_untold");
}

void remove(Database& database, const std::vector<Rid>& rows) {
  Query query = database.query("DELETE FROM fx_quarry_untold WHERE rid=?1");
  for (const Rid rid : rows) query.bind(rid).run();
}

/// Returns the deferred rows, ordered by request. Leaves out rows that are still private or phantoms,
/// because there can be many such rows. If a row no longer exists in `blob`, its hash is empty.
std::vector<ReceivedRow> read_deferred(Database& database) {
  std::vector<ReceivedRow> rows;
  Query query = database.query(
      "SELECT ifnull((SELECT rcvid FROM blob WHERE rid=u.rid),0), u.rid,"
      " ifnull((SELECT uuid FROM blob WHERE rid=u.rid),''),"
      " ifnull((SELECT size FROM blob WHERE rid=u.rid),0) FROM fx_quarry_untold AS u"
      " WHERE NOT EXISTS(SELECT 1 FROM private WHERE rid=u.rid)"
      " AND NOT EXISTS(SELECT 1 FROM phantom WHERE rid=u.rid) ORDER BY 1, 2");
  read_rows(query, rows);
  return rows;
}

/// Returns the artifacts that earlier calls have returned for the request in MARK, but have not
/// listed in Received::pushed.
std::vector<Rid> rows_before(RepositoryState& state, const ArrivalMark& mark) {
  std::vector<ReceivedRow> rows;
  Query query = state.database.query(
      "SELECT rcvid, rid, uuid, size FROM blob INDEXED BY fx_quarry_received"
      " WHERE rcvid=?1 AND rid>?2 AND rid<=?3 ORDER BY rid",
      mark.receipt, mark.pushed, mark.artifact);
  read_rows(query, rows);
  std::vector<Rid> found;
  const bool has_any_deferred = has_deferred(state.database);
  for (const ReceivedRow& row : rows) {
    if (readiness_of(state, row) != Readiness::kReady) continue;
    const bool is_deferred =
        has_any_deferred &&
        state.database.has_row("SELECT 1 FROM fx_quarry_untold WHERE rid=?1", row.rid);
    if (!is_deferred) found.push_back(row.rid);
  }
  return found;
}

/// Completes Received::pushed and the mark in BATCH. FROM is the mark at which BATCH begins.
void complete_pushes(RepositoryState& state, const ArrivalMark& from, ArrivalBatch& batch) {
  ArrivalMark& mark = batch.mark;
  const bool is_whole =
      batch.is_at_end ||
      !state.database.has_row(
          "SELECT 1 FROM blob INDEXED BY fx_quarry_received WHERE rcvid=?1 AND rid>?2",
          mark.receipt, mark.artifact);
  auto& received = batch.received;
  if (!is_whole && !received.empty() && received.back().receipt == mark.receipt) {
    received.back().pushed.clear();
  }
  const bool is_continued = mark.receipt == from.receipt;
  if (from.pushed < from.artifact && (is_whole || !is_continued)) {
    const std::vector<Rid> before = rows_before(state, from);
    if (received.empty() || received.front().receipt != from.receipt) {
      received.insert(received.begin(), sender_of(state.database, from.receipt));
    }
    auto& pushed = received.front().pushed;
    pushed.insert(pushed.begin(), before.begin(), before.end());
  }
  if (is_whole) {
    mark.pushed = mark.artifact;
  } else if (!is_continued) {
    mark.pushed = 0;
  }
}

/// Adds to TO the phantoms that are not deferred yet.
void add_phantoms(Database& database, std::vector<Rid>& to) {
  Query query = has_deferred(database) ? database.query(
                                             "SELECT p.rid FROM phantom AS p WHERE NOT EXISTS"
                                             "(SELECT 1 FROM fx_quarry_untold WHERE rid=p.rid)")
                                       : database.query("SELECT p.rid FROM phantom AS p");
  while (query.step()) to.push_back(query.integer(0));
}

}  // namespace

Result<void> Arrivals::prepare() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    if (has_index(state.database)) return;
    state.wait_for_checkpoint();
    Transaction transaction(state.database);
    state.database.execute("CREATE INDEX IF NOT EXISTS fx_quarry_received ON blob(rcvid)");
    transaction.commit();
  });
}

Result<ArrivalMark> Arrivals::end() {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    const std::int64_t last = state.database.first_integer("SELECT max(rcvid) FROM rcvfrom");
    // The mark is after all artifacts of the last request, which is complete.
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    return ArrivalMark{last, kAll, last_row(state.database), kAll};
  });
}

Result<ArrivalBatch> Arrivals::after(const ArrivalMark& mark, std::size_t limit) {
  return guarded(repository_.internals(), [&](auto& state) -> Result<ArrivalBatch> {
    if (!has_index(state.database)) {
      return fail(ErrorCode::kInvalid, "the index of received artifacts is missing");
    }
    if (state.derivation.has_pending()) state.derivation.run();
    limit = std::max<std::size_t>(limit, 1);
    const std::vector<ReceivedRow> rows = rows_after(state.database, mark, limit);
    ArrivalBatch batch;
    batch.mark = mark;
    batch.is_at_end = rows.size() < limit;
    const Rid last = last_row(state.database);
    if (rows.empty() && last == mark.seen && mark.pushed >= mark.artifact) return batch;
    add_late_rows(state.database, mark, batch.deferred);
    add_phantoms(state.database, batch.deferred);
    for (const ReceivedRow& row : rows) {
      add(state, row, batch);
      batch.mark.receipt = row.receipt;
      batch.mark.artifact = row.rid;
    }
    batch.mark.seen = last;
    complete_pushes(state, mark, batch);
    return batch;
  });
}

Result<ReadyArrivals> Arrivals::ready(const ArrivalMark& mark, std::size_t limit) {
  return guarded(repository_.internals(), [&](auto& state) -> Result<ReadyArrivals> {
    ReadyArrivals ready;
    if (!has_deferred(state.database)) return ready;
    if (state.derivation.has_pending()) state.derivation.run();
    std::size_t count = 0;
    for (const ReceivedRow& row : read_deferred(state.database)) {
      // Artifacts after the mark are reported later, with their request.
      if (is_after({row.receipt, row.rid}, mark)) continue;
      const Readiness readiness = readiness_of(state, row);
      if (readiness == Readiness::kNever) ready.finished.push_back(row.rid);
      if (readiness != Readiness::kReady) continue;
      if (count >= limit && row.receipt != ready.received.back().receipt) break;
      add_received(state, row, ready.received, ready.finished);
      ++count;
    }
    return ready;
  });
}

Result<void> Arrivals::defer(const ArrivalBatch& batch) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (!batch.deferred.empty()) {
      database.execute("CREATE TABLE IF NOT EXISTS fx_quarry_untold(rid INTEGER PRIMARY KEY)");
    }
    if (!has_deferred(database)) return;
    // Remove the reported artifacts from the deferred rows, because some of them might have been
    // deferred as phantoms.
    remove(database, batch.reported);
    Query query = database.query("INSERT OR IGNORE INTO fx_quarry_untold(rid) VALUES(?1)");
    for (const Rid rid : batch.deferred) query.bind(rid).run();
  });
}

Result<void> Arrivals::forget(const ReadyArrivals& ready) {
  return guarded(repository_.internals(), [&](Database& database) {
    if (has_deferred(database)) remove(database, ready.finished);
  });
}

}  // namespace quarry::repository
