#include "quarry/sync/replication.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "entry_application.h"
#include "entry_writer.h"
#include "quarry/repository/arrivals.h"

namespace quarry::sync {

using repository::PublishedArtifacts;
using repository::Receipt;

namespace {

// Maximum number of receipts that are read at once.
constexpr std::size_t kReceipts = 100;

void append(const PublishedArtifacts& more, PublishedArtifacts& to) {
  to.parts.insert(to.parts.end(), more.parts.begin(), more.parts.end());
  to.deferred.insert(to.deferred.end(), more.deferred.begin(), more.deferred.end());
  to.finished.insert(to.finished.end(), more.finished.begin(), more.finished.end());
}

}  // namespace

Result<bool> Replication::prepare(const ReplicaPosition& position, std::string_view host) {
  QUARRY_TRY(repository::Arrivals(repository_).prepare());
  bool exist = false;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    QUARRY_TRY_ASSIGN(exist, tables_.exist());
    if (exist) {
      QUARRY_TRY_ASSIGN(const std::string owner, tables_.host());
      if (owner == host) return false;
    }
  }
  QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
  QUARRY_TRY(exist ? tables_.adopt(host) : tables_.create(position, host));
  QUARRY_TRY(receipt.commit());
  return !exist;
}

Result<std::string> Replication::project() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  return repository_.settings().project_code();
}

Result<ReplicaPosition> Replication::position() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  return tables_.position();
}

/// Commits RECEIPT. ARE_ROWS_RECORDED tells whether no row differs from its digest.
Result<void> Replication::commit(Receipt& receipt, bool are_rows_recorded) {
  QUARRY_TRY(receipt.commit());
  if (are_rows_recorded) compared_ = repository_.state();
  return {};
}

Result<void> Replication::find_changes() {
  std::vector<repository::ChangedRow> rows;
  std::uint64_t state = 0;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    state = repository_.state();
    if (state == compared_) return {};
    QUARRY_TRY_ASSIGN(rows, tables_.changed_rows());
    if (rows.empty()) {
      compared_ = state;
      return {};
    }
  }
  QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive());
  if (repository_.state() != state) {
    QUARRY_TRY_ASSIGN(rows, tables_.changed_rows());
  }
  QUARRY_TRY(queue_changes(repository_, tables_, rows, max_entry_));
  return commit(receipt, true);
}

Result<std::vector<OutgoingEntry>> Replication::outgoing(std::size_t count) {
  PublishedArtifacts rest;
  QUARRY_TRY_ASSIGN(auto entries, read_outgoing(count, rest));
  if (rest.is_empty()) return entries;
  if (!entries.empty() && entries.back().out_id == 0) {
    append(rest, entries.back().artifacts);
    return entries;
  }
  {
    QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive_unsynced());
    const bool are_rows_recorded = repository_.state() == compared_;
    QUARRY_TRY(tables_.record(rest));
    QUARRY_TRY(commit(receipt, are_rows_recorded));
  }
  // If the receipts that were read contain only artifacts that wait, continue with later receipts.
  return entries.empty() ? outgoing(count) : std::move(entries);
}

/// Reads what outgoing() returns. REST is what has to be recorded in addition.
Result<std::vector<OutgoingEntry>> Replication::read_outgoing(std::size_t count,
                                                              PublishedArtifacts& rest) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  std::vector<OutgoingEntry> entries;
  is_complete_ = false;
  QUARRY_TRY_ASSIGN(const auto changes, tables_.queued(count));
  for (const auto& change : changes) {
    entries.push_back({.content = fmt::format("change {}\n{}", change.nonce, change.content),
                       .out_id = change.id});
  }
  if (entries.size() >= count) return entries;
  ArtifactEntries artifacts(tables_, entries, count, max_entry_);
  QUARRY_TRY_ASSIGN(const auto receipts, tables_.unpublished(kReceipts));
  for (const auto& receipt : receipts) {
    if (artifacts.is_full()) break;
    QUARRY_TRY(artifacts.add(receipt));
  }
  rest = artifacts.take_rest();
  is_complete_ = receipts.size() < kReceipts && !artifacts.is_full();
  return entries;
}

Result<void> Replication::published(const std::vector<OutgoingEntry>& entries) {
  if (entries.empty()) return {};
  // If a published change were published again later, it would undo newer changes of other hosts.
  const bool has_changes =
      std::ranges::any_of(entries, [](const OutgoingEntry& entry) { return entry.out_id != 0; });
  QUARRY_TRY_ASSIGN(Receipt receipt,
                    has_changes ? repository_.receive() : repository_.receive_unsynced());
  const bool are_rows_recorded = repository_.state() == compared_;
  for (const OutgoingEntry& entry : entries) {
    if (entry.out_id != 0) QUARRY_TRY(tables_.remove_queued(entry.out_id));
    if (entry.out_id == 0) QUARRY_TRY(tables_.record(entry.artifacts));
  }
  return commit(receipt, are_rows_recorded);
}

Result<void> Replication::apply(const std::vector<IncomingEntry>& entries,
                                const ReplicaPosition& position) {
  EntryApplication application(repository_, tables_, max_entry_, entries, position);
  // Find changes here, too, because this commit is synced to the disk, unlike that of run().
  if (application.has_changes()) QUARRY_TRY(find_changes());
  return application.run(compared_);
}

}  // namespace quarry::sync
