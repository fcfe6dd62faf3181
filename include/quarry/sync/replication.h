// Replicates a repository to other hosts through a stream of entries that all hosts read in the same
// order. This module does not know how the stream is stored: see replica/.
//
// An entry is the content of one or more cards of the sync protocol:
//
//   artifacts of one receipt:   `from TIME LOGIN ADDRESS` (milliseconds since 1970; `-` if unknown; a
//                               fourth word distinguishes an artifact that is published again),
//                               then `private` and `cfile` cards
//   other changes:              `change NUMBER`, then
//                               `config /TABLE SIZE`   the whole row, see repository/configuration.h;
//                                                      MTIME can be NULL
//                               `uvfile …`             as in the sync protocol
//                               `remove /TABLE KEY`    a deleted row; also of `unversioned`
//                               `publish NAME`         a private artifact became public
//                               `want NAME`            a host could not store the artifact; others
//                                                      publish it again
//                               `digested NAME`        the daily digest with the artifact was sent
//
// Artifacts can be applied in any order. For all other changes the last entry in the stream wins on
// every host, also on the host that made the change. The numbers of a host's changes rise (see
// repository/replica_tables.h). A change is skipped if a later one of the same host was applied before:
// it is a copy that the stream has stored late. Therefore, a change must be in the stream before the
// next one is sent.
//
// A write transaction can make a page of `fossil` fail, so published() and apply() write only what
// changes the repository. The rest of the state is written by the next transaction, or by
// record_progress(). If it is lost, artifacts are published twice, and entries are applied again.
//
// Changes that `fossil` or other programs make on this host are found by comparing rows with their
// digests. apply() does this in the same write transaction, so an entry can never overwrite a change
// that is not yet in fx_quarry_replica_out.
//
// The commits of apply() are not synced to the disk. After a power failure, the data and the
// position can be those of an earlier commit, and the entries must be applied again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

/// See replica::StreamPosition.
using repository::ReplicaPosition;

/// An entry to publish. Call Replication::published() with it when the stream has stored it.
struct OutgoingEntry {
  std::string content;
  std::int64_t number = 0;  // of a change; 0 for artifacts
  repository::PublishedArtifacts artifacts = {};
};

struct IncomingEntry {
  std::uint64_t sequence = 0;
  bool is_own = false;  // published by this host
  std::string_view host;
  std::string_view content;
};

/// Records all unpublished artifacts as published, and returns their entries: publish them before the
/// commit. Use inside a Receipt. Errors: kBusy (there are too many), kIo, kCorrupt.
Result<std::vector<std::string>> take_unpublished(repository::Repository& repository);

/// One repository of a group. Not thread-safe. Do not call a function while a Snapshot or a Receipt
/// of the repository exists. Errors of all functions: kBusy, kNoSpace, kIo, kCorrupt.
class Replication {
 public:
  /// REPOSITORY is not owned. Entries have about MAX_ENTRY bytes at most, unless a single artifact or
  /// file is larger.
  Replication(repository::Repository& repository, std::size_t max_entry)
      : repository_(repository), tables_(repository), max_entry_(max_entry) {}

  /// Creates the tables at the first call for a repository. What the repository has received before
  /// SINCE then counts as published, because other hosts have copies of the file or notice the
  /// difference, and POSITION as applied. If the file is a copy from a host with another name than
  /// HOST, events and mail that wait in it are not sent. Returns whether the tables were created.
  Result<bool> prepare(const ReplicaPosition& position, std::string_view host,
                       base::UnixMillis since = {std::numeric_limits<std::int64_t>::max() / 2});
  /// Returns the project code.
  Result<std::string> project();
  /// Returns the position up to which entries were applied.
  Result<ReplicaPosition> position();
  /// Returns whether the stored position is an earlier one. Then the process must read the stream
  /// again from there after it was killed.
  bool has_unrecorded_position() const { return unrecorded_.position.has_value(); }
  /// Stores what published() and apply() have not stored.
  Result<void> record_progress();

  /// Finds changed rows and adds them to fx_quarry_replica_out. Takes the write lock only if a row
  /// has changed.
  Result<void> find_changes();
  /// Returns at most COUNT entries that are to be published next: first changes of rows, then
  /// artifacts. Empty if everything is published.
  Result<std::vector<OutgoingEntry>> outgoing(std::size_t count);
  /// Returns whether the last call of outgoing() has returned everything that is to be published.
  bool is_complete() const { return is_complete_; }
  /// Records that ENTRIES, in the order of outgoing(), are in the stream.
  Result<void> published(const std::vector<OutgoingEntry>& entries);

  /// Applies ENTRIES in order and sets the position to POSITION, in one transaction. Skips entries up
  /// to the position of the repository. An entry that is malformed is logged and skipped; an
  /// artifact with a wrong hash is never stored.
  Result<void> apply(const std::vector<IncomingEntry>& entries, const ReplicaPosition& position);

  // Two hosts compare their repositories with the following functions. Artifacts count if the
  // repository holds them, except those that are shunned.

  /// Hosts with the same digests hold the same.
  struct Contents {
    std::string digest;  // SHA3-256 over the names of artifacts and whether they are private
    std::string rows;    // SHA3-256 over all replicated rows
    std::uint64_t artifacts = 0;
    std::map<std::string, std::string> buckets;  // digests of the names by their first two digits
  };
  /// Reads all names and rows.
  Result<Contents> contents();
  /// Returns the names that begin with PREFIX and follow AFTER, in order: lines `NAME` or
  /// `NAME private` of at most MAX bytes together.
  Result<std::string> names(std::string_view prefix, std::string_view after, std::size_t max);
  /// Returns the rows that follow AFTER (`TABLE KEY`), in order: lines `TABLE KEY MTIME DIGEST` of at
  /// most MAX bytes together.
  Result<std::string> rows(std::string_view after, std::size_t max);
  /// NAMES come from another host. Publishes which of its artifacts this host lacks, and which have
  /// become public, at most COUNT. Returns their number.
  Result<std::size_t> want_missing(std::string_view names, std::size_t count);
  /// ROWS come from another host. Returns the places (`TABLE KEY`) of all rows that differ, and of
  /// those whose version on this host is newer, or which only this host has.
  struct Difference {
    std::vector<std::string> rows;
    std::vector<std::string> newer;
  };
  Result<Difference> difference(std::string_view rows);
  /// Makes outgoing() return the rows at PLACES, or their deletion if they do not exist.
  Result<void> publish_rows(const std::vector<std::string>& places);

 private:
  struct Unrecorded {
    repository::ReplicaTables::UnrecordedParts parts;
    std::int64_t published = 0;  // changes up to this number are in the stream
    std::int64_t applied = 0;    // number of the last own change that was applied
    std::optional<ReplicaPosition> position;
    bool is_empty() const { return parts.empty() && published == 0 && !position; }
  };

  Result<std::vector<OutgoingEntry>> read_outgoing(std::size_t count,
                                                   repository::PublishedArtifacts& rest);
  Result<void> write_progress();
  Result<void> record(const repository::PublishedArtifacts& artifacts, std::int64_t number);
  Result<void> commit(repository::Receipt& receipt, bool are_rows_recorded);

  repository::Repository& repository_;
  repository::ReplicaTables tables_;
  std::size_t max_entry_;
  std::uint64_t compared_ = 0;  // Repository::state() in which no row differed from its digest
  bool is_complete_ = false;
  std::string host_;  // this host
  Unrecorded unrecorded_;
};

}  // namespace quarry::sync
