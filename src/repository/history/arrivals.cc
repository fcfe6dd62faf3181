#include "quarry/repository/arrivals.h"

#include <algorithm>
#include <limits>

#include "symbolic_tags.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Of a check-in: more is no news.
constexpr std::size_t kMostTags = 100;

bool has_index(Database& database) {
  return database.query("SELECT 1 FROM sqlite_schema WHERE name='fx_quarry_received'").step();
}

/// Whether the check-in RID waits for its baseline.
bool is_orphan(Database& database, Rid rid) {
  return database.query("SELECT 1 FROM orphan WHERE rid=?1").bind(1, rid).step();
}

/// A row of `blob`.
struct Row {
  std::int64_t receipt;
  Rid rid;
  std::string hash;
  std::int64_t size;
};

void read_rows(Query& query, std::vector<Row>& rows) {
  while (query.step()) {
    rows.push_back(
        {query.integer(0), query.integer(1), std::string(query.text(2)), query.integer(3)});
  }
}

/// The rows after MARK, at most LIMIT: the rest of its receipt, and those of later ones. (One
/// comparison of both numbers at once would walk over what has been seen of a large receipt.)
std::vector<Row> rows_after(Database& database, const ArrivalMark& mark, std::size_t limit) {
  std::vector<Row> rows;
  // Phantoms have the number 0.
  if (mark.receipt > 0) {
    Query same = database.query(
        "SELECT rcvid, rid, uuid, size FROM blob INDEXED BY fx_quarry_received"
        " WHERE rcvid=?1 AND rid>?2 ORDER BY rid LIMIT ?3");
    same.bind(1, mark.receipt).bind(2, mark.artifact).bind(3, static_cast<std::int64_t>(limit));
    read_rows(same, rows);
  }
  if (rows.size() >= limit) return rows;
  Query later = database.query(
      "SELECT rcvid, rid, uuid, size FROM blob INDEXED BY fx_quarry_received"
      " WHERE rcvid>?1 ORDER BY rcvid, rid LIMIT ?2");
  later.bind(1, std::max<std::int64_t>(mark.receipt, 0))
      .bind(2, static_cast<std::int64_t>(limit - rows.size()));
  read_rows(later, rows);
  return rows;
}

/// Who sent what came with RECEIPT, and when.
Received sender_of(Database& database, std::int64_t receipt) {
  Received received{
      .receipt = receipt, .login = {}, .time = {}, .address = {}, .artifacts = {}, .waiting = {}};
  Query query = database.query(
      "SELECT mtime, ipaddr, (SELECT login FROM user WHERE uid=rcvfrom.uid) FROM rcvfrom"
      " WHERE rcvid=?1");
  if (!query.bind(1, receipt).step()) return received;
  received.time = base::from_julian_day(query.real(0));
  received.address = query.text(1);
  received.login = query.text(2);
  return received;
}

ReceivedArtifact describe(Repository::State& state, Rid rid, const HashName& name,
                          std::int64_t size) {
  std::optional<TimelineEntry> entry = timeline_entry(state, rid, name);
  const ArtifactKind kind = kind_of(state, rid, entry);
  if (entry) entry->kind = kind;
  std::vector<std::string> tags;
  if (kind == ArtifactKind::kCheckIn) tags = symbolic_tags(state.database, rid, kMostTags);
  return {
      .name = name, .size = size, .kind = kind, .entry = std::move(entry), .tags = std::move(tags)};
}

void add(Repository::State& state, const Row& row, Received& to) {
  const auto name = HashName::parse(row.hash);
  // A phantom counts when its content comes.
  if (!name || row.size < 0 || !is_public(state, row.rid, row.hash)) return;
  if (state.waiting_ones().contains(row.rid) || is_orphan(state.database, row.rid)) {
    to.waiting.push_back(*name);
  } else {
    to.artifacts.push_back(describe(state, row.rid, *name, row.size));
  }
}

}  // namespace

base::Result<void> Arrivals::prepare() {
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<void> {
    if (has_index(state.database)) return {};
    state.pass_gate();
    Transaction transaction(state.database, Transaction::Kind::kWrite);
    state.database.execute("CREATE INDEX IF NOT EXISTS fx_quarry_received ON blob(rcvid)");
    transaction.commit();
    return {};
  });
}

base::Result<ArrivalMark> Arrivals::end() {
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<ArrivalMark> {
    Query query = state.database.query("SELECT max(rcvid) FROM rcvfrom");
    const std::int64_t last = query.step() ? query.integer(0) : 0;
    // Nothing more comes with a request that is over.
    return ArrivalMark{last, std::numeric_limits<std::int64_t>::max()};
  });
}

base::Result<ArrivalBatch> Arrivals::after(const ArrivalMark& mark, std::size_t limit) {
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<ArrivalBatch> {
    if (!has_index(state.database)) {
      return base::fail(base::ErrorCode::kInvalid, "what came has no index yet");
    }
    if (state.derivation.has_pending()) state.derivation.run();
    limit = std::max<std::size_t>(limit, 1);
    const std::vector<Row> rows = rows_after(state.database, mark, limit);
    ArrivalBatch batch{.received = {}, .mark = mark, .is_at_end = rows.size() < limit};
    for (const Row& row : rows) {
      if (batch.received.empty() || batch.received.back().receipt != row.receipt) {
        batch.received.push_back(sender_of(state.database, row.receipt));
      }
      add(state, row, batch.received.back());
      batch.mark = {row.receipt, row.rid};
    }
    std::erase_if(batch.received, [](const Received& received) {
      return received.artifacts.empty() && received.waiting.empty();
    });
    return batch;
  });
}

base::Result<std::optional<ReceivedArtifact>> Arrivals::find(const HashName& name) {
  using Found = std::optional<ReceivedArtifact>;
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<Found> {
    if (state.derivation.has_pending()) state.derivation.run();
    const auto found = repository_.find(name);
    if (!found || found->is_phantom() || is_orphan(state.database, found->rid) ||
        !is_shown(state, found->rid, name.str())) {
      return Found{};
    }
    return describe(state, found->rid, name, found->size);
  });
}

}  // namespace quarry::repository
