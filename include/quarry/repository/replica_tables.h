// The state of replication in a repository, in our own tables. For sync/replication.h.
//
//   fx_quarry_replica           one row: the applied position of the stream (created, sequence), the
//                               last receipt (rcvid) that was published, and the name of the host
//   fx_quarry_replica_sent      for recent receipts: the last published artifact (rid), and the number
//                               of the receipt's artifacts up to it
//   fx_quarry_replica_received  all receipts that came from the stream. Rows are never deleted, because
//                               events, hooks and mail can be about artifacts that arrived long ago
//   fx_quarry_replica_late      artifacts that could not be published with their receipt, because
//                               they waited (Repository::is_waiting) or were shunned
//   fx_quarry_replica_private   artifacts that all hosts hold as private artifacts
//   fx_quarry_replica_row       digest of each other row, as it was last published or applied
//   fx_quarry_replica_out       changes of rows that are not yet published, with their numbers
//   fx_quarry_replica_number    for each host, the number of its last change that was applied. A host's
//                               numbers rise, also after it was reinstalled: they are milliseconds since
//                               1970 or, if the clock is behind, follow the highest known number
//
// Artifacts are published in the order of (rcvid, rid), with the index fx_quarry_received (see
// arrivals.h). A process that has several transactions, such as `fossil pull`, uses one rcvid for
// all of them. It can also fill phantoms, whose rid is lower than those of published artifacts.
// Therefore, recent receipts are examined again: if the number of artifacts up to the last published
// one has changed, the whole receipt is published again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

class Repository;

/// A position in a stream. A stream that was deleted and created again has another `created`.
struct ReplicaPosition {
  std::int64_t created = 0;
  std::uint64_t sequence = 0;
  friend bool operator==(const ReplicaPosition&, const ReplicaPosition&) = default;
};

/// A row that differs from the one that was last published or applied.
struct ChangedRow {
  std::string table;  // of the configuration, or `unversioned`, or `private`
  std::string key;
  std::string content = {};  // for the configuration: the content of a `config` card
  std::string digest = {};   // empty if the row was deleted
  std::int64_t mtime = 0;    // in seconds since 1970; 0 if unknown
};

/// Artifacts of a receipt that are to be published: those after `after`, up to and with `last`.
struct UnpublishedReceipt {
  std::int64_t receipt = 0;
  Rid after = 0;
  Rid last = std::numeric_limits<Rid>::max();
  bool is_late = false;  // the single artifact is in fx_quarry_replica_late
  base::UnixMillis time = {};
  std::string login = {};  // of the sender; empty if unknown
  std::string address = {};
};

struct UnpublishedArtifact {
  Rid rid = 0;
  artifact::HashName name;
  std::int64_t size = 0;                          // uncompressed
  std::optional<artifact::HashName> source = {};  // the content is a delta on this artifact
  std::string_view stored;                        // blob format (artifact/blob.h)
  bool is_private = false;
};

/// The data to record when artifacts are in the stream.
struct PublishedArtifacts {
  struct Part {
    std::int64_t receipt = 0;
    Rid artifact = 0;            // the last published one
    std::int64_t artifacts = 0;  // number of artifacts of the receipt up to it
  };
  std::vector<Part> parts = {};
  std::vector<Rid> deferred = {};  // to add to fx_quarry_replica_late
  std::vector<Rid> finished = {};  // to remove from it
  std::vector<Rid> as_private = {};
  bool is_empty() const { return parts.empty() && finished.empty(); }
};

struct QueuedChange {
  std::int64_t number = 0;
  std::string content;
};

class ReplicaTables {
 public:
  /// REPOSITORY is not owned.
  explicit ReplicaTables(Repository& repository) : repository_(repository) {}

  // Use these functions inside a Snapshot or a Receipt. Errors of all functions: kIo, kCorrupt.

  Result<bool> exist();
  Result<ReplicaPosition> position();
  Result<std::string> host();
  /// Returns the rows that have changed. Leaves out rows that cannot be in a card. A private artifact
  /// that has become public counts as a deleted row of the table `private`.
  Result<std::vector<ChangedRow>> changed_rows();
  /// Returns at most LIMIT changes with numbers after AFTER, in order.
  Result<std::vector<QueuedChange>> queued(std::int64_t after, std::size_t limit);
  /// Returns the number of the last applied change of HOST, or 0.
  Result<std::int64_t> number(std::string_view host);
  /// What is published and not recorded yet, by receipt.
  using UnrecordedParts = std::map<std::int64_t, PublishedArtifacts::Part>;
  /// Returns at most LIMIT receipts with unpublished artifacts, in order.
  Result<std::vector<UnpublishedReceipt>> unpublished(const UnrecordedParts& unrecorded,
                                                      std::size_t limit);
  /// Calls VISIT for the artifacts of RECEIPT in order, until VISIT returns false. Adds those that
  /// cannot be published yet to DEFERRED. The visited artifact is valid only during the call. Returns
  /// the last artifact that was read, except the one for which VISIT returned false.
  Result<Rid> visit_unpublished(const UnpublishedReceipt& receipt, std::vector<Rid>& deferred,
                                const std::function<bool(const UnpublishedArtifact&)>& visit);
  /// Returns whether the artifact RID is in the stream.
  Result<bool> is_published(Rid rid);
  /// Returns the number of artifacts of RECEIPT up to the artifact LAST.
  Result<std::int64_t> count(std::int64_t receipt, Rid last);
  /// Returns the names of the stored deltas that wait for the phantom NAME.
  Result<std::vector<std::string>> waiting_for(std::string_view name);
  /// Calls VISIT in alphabetical order for the names of artifacts that begin with PREFIX and follow
  /// AFTER, until VISIT returns false. Leaves out phantoms and artifacts that wait or are shunned.
  Result<void> visit_names(
      std::string_view prefix, std::string_view after,
      const std::function<bool(std::string_view name, bool is_private)>& visit);
  /// Returns all rows that are replicated, in any order, without their contents.
  Result<std::vector<ChangedRow>> rows();

  // Use these functions inside a Receipt.

  /// Creates the tables. See sync::Replication::prepare().
  Result<void> create(const ReplicaPosition& position, std::string_view host,
                      base::UnixMillis since);
  /// Makes a copy of another host's repository belong to HOST. The other host reports what it has
  /// received.
  Result<void> adopt(std::string_view host);
  Result<void> set_position(const ReplicaPosition& position);
  Result<void> record(const std::vector<ChangedRow>& rows);
  /// Makes changed_rows() return the row KEY of TABLE, if it exists.
  Result<void> forget(std::string_view table, std::string_view key);
  Result<void> record(const PublishedArtifacts& artifacts);
  Result<void> queue(std::string_view content);
  /// Tells other hosts that the daily digest with ARTIFACTS was sent.
  Result<void> queue_digested(const std::vector<Rid>& artifacts);
  /// Records that another host has sent the daily digest with the artifact NAME.
  Result<void> mark_digested(std::string_view name);
  /// Removes the changes up to NUMBER.
  Result<void> remove_queued(std::int64_t number);
  Result<void> set_number(std::string_view host, std::int64_t number);
  /// Records that RECEIPT came from the stream.
  Result<void> add_received(std::int64_t receipt);
  /// Records that NAME is a private artifact on all hosts, if it is private here.
  Result<void> add_private(const artifact::HashName& name);
  /// Makes unpublished() return the artifact NAME again, if the repository holds it.
  Result<void> publish_again(std::string_view name);
  /// Skips received receipts that follow the last published one. Otherwise, unpublished() would
  /// examine them each time.
  Result<void> skip_received();

  /// Returns whether queue() of this object has queued the change NUMBER since the last call of
  /// forget_queued().
  bool has_queued(std::int64_t number) const { return queued_.contains(number); }
  void forget_queued() { queued_.clear(); }

 private:
  Repository& repository_;
  std::set<std::int64_t> queued_;
};

}  // namespace quarry::repository
