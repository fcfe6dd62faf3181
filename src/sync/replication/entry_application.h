// Applies entries of the stream in one transaction. See quarry/sync/replication.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "entry_cards.h"
#include "quarry/base/result.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/replication.h"

namespace quarry::sync {

/// Adds ROWS, which have changed on this host, to the queue. Use inside a Receipt.
Result<void> queue_changes(repository::Repository& repository, repository::ReplicaTables& tables,
                           const std::vector<repository::ChangedRow>& rows, std::size_t max_entry);

class EntryApplication {
 public:
  /// Arguments are not owned.
  EntryApplication(repository::Repository& repository, repository::ReplicaTables& tables,
                   std::size_t max_entry, const std::vector<IncomingEntry>& entries,
                   const ReplicaPosition& position)
      : repository_(repository),
        tables_(tables),
        max_entry_(max_entry),
        entries_(entries),
        position_(position) {
    parse();
  }

  /// Returns whether any entry has changes other than artifacts.
  bool has_changes() const;
  /// Returns nullopt if run() must be called. Otherwise, all entries are own ones that do not change
  /// anything; then returns the number of the last own change, which was APPLIED before the entries.
  Result<std::optional<std::int64_t>> unchanging(std::int64_t applied);
  /// COMPARED is the Repository::state() in which no row differs from its digest. It is updated.
  /// BEFORE is called in the transaction before the entries are applied.
  Result<void> run(std::uint64_t& compared, const std::function<Result<void>()>& before);

 private:
  /// An item of an entry: the index of the entry, and the index in ParsedEntry::items.
  using Place = std::pair<std::size_t, std::size_t>;

  void parse();
  Result<void> apply_all(std::uint64_t& compared, const std::function<Result<void>()>& before);
  Result<void> apply(std::size_t index, repository::Receipt& receipt);
  Result<void> apply(const EntryItem& item, repository::Receipt& receipt);
  Result<void> store(const repository::Arrival& arrival, repository::Receipt& receipt);
  Result<void> replace(const repository::ConfigRecord& record, repository::Receipt& receipt);
  Result<void> want(std::string_view name);
  Result<void> change_row(std::string_view table, std::string_view key,
                          const std::function<Result<void>()>& change);
  bool is_known(const artifact::HashName& name);
  bool changes_own_host(const EntryItem& item);
  bool skip(const Error& error);

  repository::Repository& repository_;
  repository::ReplicaTables& tables_;
  std::size_t max_entry_;
  const std::vector<IncomingEntry>& entries_;
  const ReplicaPosition& position_;
  std::vector<std::optional<ParsedEntry>> parsed_;  // nullopt if the entry is malformed
  std::set<Place> bad_;                             // items that cannot be applied
  Place current_;
};

}  // namespace quarry::sync
