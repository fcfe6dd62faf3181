// Writes the entries that are to be published.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cards/card_writer.h"
#include "quarry/base/result.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/replication.h"

namespace quarry::sync {

/// Returns the cards for ROWS without their `change` cards: one text for each entry. Logs and skips
/// rows that cannot be read. Use inside a Receipt.
std::vector<std::string> change_cards(repository::Repository& repository,
                                      const std::vector<repository::ChangedRow>& rows,
                                      std::size_t max_entry);

/// Makes entries of unpublished artifacts. Use inside a Snapshot.
class ArtifactEntries {
 public:
  /// Arguments are not owned. Adds entries to ENTRIES until there are COUNT entries.
  ArtifactEntries(repository::ReplicaTables& tables, std::vector<OutgoingEntry>& entries,
                  std::size_t count, std::size_t max_entry)
      : tables_(tables), entries_(entries), count_(count), max_entry_(max_entry) {}

  /// Errors: kIo, kCorrupt.
  Result<void> add(const repository::UnpublishedReceipt& receipt);
  bool is_full() const { return entries_.size() >= count_; }
  /// Returns what has to be recorded although it does not belong to an entry.
  repository::PublishedArtifacts take_rest() { return std::move(progress_); }

 private:
  void begin(const repository::UnpublishedReceipt& receipt);
  void write(const repository::UnpublishedArtifact& artifact);
  Result<void> end(const repository::UnpublishedReceipt& receipt, repository::Rid last);

  repository::ReplicaTables& tables_;
  std::vector<OutgoingEntry>& entries_;
  std::size_t count_;
  std::size_t max_entry_;
  CardWriter writer_;
  bool has_artifacts_ = false;
  repository::PublishedArtifacts progress_;  // since the last entry
};

}  // namespace quarry::sync
