#include "received_rows.h"

#include <tuple>

#include "symbolic_tags.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Maximum number of tags reported for a check-in.
constexpr std::size_t kMostReceivedTags = 100;

/// Whether the check-in RID waits for its baseline.
bool is_orphan(Database& database, Rid rid) {
  return database.has_row("SELECT 1 FROM orphan WHERE rid=?1", rid);
}

bool is_shunned(Database& database, std::string_view hash) {
  return database.has_row("SELECT 1 FROM shun WHERE uuid=?1", hash);
}

/// The sender and time of RECEIPT.
Received sender_of(Database& database, std::int64_t receipt) {
  Received received{.receipt = receipt, .login = {}, .time = {}, .address = {}, .artifacts = {}};
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

ReceivedArtifact describe(Repository::State& state, Rid rid, const HashName& name,
                          std::int64_t size) {
  std::optional<TimelineEntry> entry = timeline_entry(state, rid, name);
  const ArtifactKind kind = kind_of(state, rid, entry);
  if (entry) entry->kind = kind;
  std::vector<std::string> tags;
  if (kind == ArtifactKind::kCheckIn) tags = symbolic_tags(state.database, rid, kMostReceivedTags);
  return {
      .name = name, .size = size, .kind = kind, .entry = std::move(entry), .tags = std::move(tags)};
}

}  // namespace

bool is_after(const ArrivalMark& place, const ArrivalMark& mark) {
  return std::tie(place.receipt, place.artifact) > std::tie(mark.receipt, mark.artifact);
}

Readiness readiness_of(Repository::State& state, const ReceivedRow& row) {
  if (!HashName::parse(row.hash) || is_shunned(state.database, row.hash)) return Readiness::kNever;
  const bool lacks_something =
      row.size < 0 || state.waiting_ones().contains(row.rid) || is_orphan(state.database, row.rid);
  if (lacks_something || state.privacy.is_private(row.rid)) return Readiness::kNotYet;
  return Readiness::kReady;
}

void add_received(Repository::State& state, const ReceivedRow& row, std::vector<Received>& received,
                  std::vector<Rid>& reported) {
  const auto name = HashName::parse(row.hash);
  if (!name) return;
  if (received.empty() || received.back().receipt != row.receipt) {
    received.push_back(sender_of(state.database, row.receipt));
  }
  received.back().artifacts.push_back(describe(state, row.rid, *name, row.size));
  reported.push_back(row.rid);
}

}  // namespace quarry::repository
