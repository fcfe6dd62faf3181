#include "quarry/sync/replication.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "entry_application.h"
#include "entry_writer.h"
#include "quarry/repository/arrivals.h"

namespace quarry::sync {

using repository::PublishedArtifacts;
using repository::Receipt;

namespace {

// Maximum number of receipts that are read at once.
constexpr std::size_t kReceipts = 100;
// Maximum number of published receipts that are not recorded.
constexpr std::size_t kMaxUnrecorded = 50;
// About the maximum size of an entry of take_unpublished().
constexpr std::size_t kMaxTaken = std::size_t{16} << 20;

void append(const PublishedArtifacts& more, PublishedArtifacts& to) {
  to.parts.insert(to.parts.end(), more.parts.begin(), more.parts.end());
  to.deferred.insert(to.deferred.end(), more.deferred.begin(), more.deferred.end());
  to.finished.insert(to.finished.end(), more.finished.begin(), more.finished.end());
  to.as_private.insert(to.as_private.end(), more.as_private.begin(), more.as_private.end());
}

}  // namespace

Result<std::vector<std::string>> take_unpublished(repository::Repository& repository) {
  repository::ReplicaTables tables(repository);
  std::vector<OutgoingEntry> entries;
  ArtifactEntries artifacts(tables, entries, kReceipts, kMaxTaken);
  QUARRY_TRY_ASSIGN(const auto receipts, tables.unpublished({}, kReceipts));
  for (const auto& receipt : receipts) QUARRY_TRY(artifacts.add(receipt));
  if (receipts.size() == kReceipts || artifacts.is_full()) {
    return fail(ErrorCode::kBusy, "too many changes of this host are not published yet");
  }
  QUARRY_TRY(tables.record(artifacts.take_rest()));
  std::vector<std::string> taken;
  for (OutgoingEntry& entry : entries) {
    QUARRY_TRY(tables.record(entry.artifacts));
    taken.push_back(std::move(entry.content));
  }
  return taken;
}

Result<bool> Replication::prepare(const ReplicaPosition& position, std::string_view host,
                                  base::UnixMillis since) {
  QUARRY_TRY(repository::Arrivals(repository_).prepare());
  host_ = host;
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
  QUARRY_TRY(exist ? tables_.adopt(host) : tables_.create(position, host, since));
  QUARRY_TRY(receipt.commit());
  return !exist;
}

Result<std::string> Replication::project() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  return repository_.settings().project_code();
}

Result<ReplicaPosition> Replication::position() {
  if (unrecorded_.position) return *unrecorded_.position;
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
  if (!entries.empty() && entries.back().number == 0) {
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
  QUARRY_TRY_ASSIGN(const auto changes, tables_.queued(unrecorded_.published, count));
  for (const auto& change : changes) {
    entries.push_back({.content = fmt::format("change {}\n{}", change.number, change.content),
                       .number = change.number});
  }
  if (entries.size() >= count) return entries;
  ArtifactEntries artifacts(tables_, entries, count, max_entry_);
  QUARRY_TRY_ASSIGN(const auto receipts, tables_.unpublished(unrecorded_.parts, kReceipts));
  for (const auto& receipt : receipts) {
    if (artifacts.is_full()) break;
    QUARRY_TRY(artifacts.add(receipt));
  }
  rest = artifacts.take_rest();
  is_complete_ = receipts.size() < kReceipts && !artifacts.is_full();
  return entries;
}

Result<void> Replication::published(const std::vector<OutgoingEntry>& entries) {
  PublishedArtifacts artifacts;
  std::int64_t number = 0;
  for (const OutgoingEntry& entry : entries) {
    append(entry.artifacts, artifacts);
    number = std::max(number, entry.number);
  }
  const bool must_write =
      !artifacts.deferred.empty() || !artifacts.finished.empty() || !artifacts.as_private.empty();
  if (must_write) return record(artifacts, number);
  for (const auto& part : artifacts.parts) unrecorded_.parts.insert_or_assign(part.receipt, part);
  unrecorded_.published = std::max(unrecorded_.published, number);
  return unrecorded_.parts.size() > kMaxUnrecorded ? record_progress() : Result<void>();
}

Result<void> Replication::record_progress() {
  return unrecorded_.is_empty() ? Result<void>() : record({}, 0);
}

/// Writes `unrecorded_`, and that ARTIFACTS and the changes up to NUMBER are published.
Result<void> Replication::record(const PublishedArtifacts& artifacts, std::int64_t number) {
  QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive_unsynced());
  const bool are_rows_recorded = repository_.state() == compared_;
  QUARRY_TRY(write_progress());
  QUARRY_TRY(tables_.record(artifacts));
  if (number != 0) QUARRY_TRY(tables_.remove_queued(number));
  QUARRY_TRY(commit(receipt, are_rows_recorded));
  unrecorded_ = {};
  return {};
}

/// Writes `unrecorded_` in the transaction of the caller.
Result<void> Replication::write_progress() {
  PublishedArtifacts artifacts;
  for (const auto& [receipt, part] : unrecorded_.parts) artifacts.parts.push_back(part);
  if (!artifacts.parts.empty()) QUARRY_TRY(tables_.record(artifacts));
  if (unrecorded_.published != 0) QUARRY_TRY(tables_.remove_queued(unrecorded_.published));
  if (unrecorded_.applied != 0) QUARRY_TRY(tables_.set_number(host_, unrecorded_.applied));
  return unrecorded_.position ? tables_.set_position(*unrecorded_.position) : Result<void>();
}

Result<void> Replication::apply(const std::vector<IncomingEntry>& entries,
                                const ReplicaPosition& position) {
  EntryApplication application(repository_, tables_, max_entry_, entries, position);
  QUARRY_TRY_ASSIGN(const auto applied, application.unchanging(unrecorded_.applied));
  if (applied) {
    unrecorded_.applied = *applied;
    unrecorded_.published = std::max(unrecorded_.published, *applied);
    unrecorded_.position = position;
    return {};
  }
  // Find changes here, too, because this commit is synced to the disk, unlike that of run().
  if (application.has_changes()) QUARRY_TRY(find_changes());
  QUARRY_TRY(application.run(compared_, [this] { return write_progress(); }));
  unrecorded_ = {};
  if (application.has_changes()) tables_.forget_queued();
  return {};
}

}  // namespace quarry::sync
