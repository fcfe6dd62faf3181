// The artifacts that have arrived since a mark, grouped by the request that brought them, with the
// sender and time of each request. Hooks and events report these artifacts, no matter which program
// stored them.
//
// An artifact belongs to the request that brought its content (`blob.rcvid`), not to the request
// that created it as a phantom. Our own index on that column, `fx_quarry_received`, finds these
// artifacts. Insertions are fast, because new rows belong at the end of the index. `fossil rebuild`
// keeps the index.
//
// Shunned artifacts are never reported. Artifacts that came from another host through the stream (see
// replica_tables.h) are reported only by that host. An artifact that cannot be reported yet is
// deferred. This applies to deltas whose source is missing, check-ins whose baseline is missing, and
// private artifacts, including artifacts that await a moderator. Phantoms are deferred too.
// `fossil pull` uses one number for all its round trips, so the content of a phantom can arrive under
// the number of a request that has already been reported. The deferred rows are in our own table:
//
//   fx_quarry_untold(rid)
//
// A consumer saves its mark and the deferred rows in one transaction (Arrivals::defer). Later,
// Arrivals::ready returns the deferred artifacts that can then be reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/project_history.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

class Repository;

/// The position up to which a consumer has read. Consumers store it unchanged. The default is the
/// position before all artifacts.
struct ArrivalMark {
  std::int64_t receipt = 0;   // rcvfrom.rcvid
  std::int64_t artifact = 0;  // blob.rid of the last artifact seen in that request
  std::int64_t seen = 0;      // highest blob.rid when the mark was made; 0 if unknown
  std::int64_t pushed = 0;    // last blob.rid of that request that was listed in Received::pushed
  friend bool operator==(const ArrivalMark&, const ArrivalMark&) = default;
};

struct ReceivedArtifact {
  artifact::HashName name;
  std::int64_t size = 0;  // bytes, uncompressed
  ArtifactKind kind = ArtifactKind::kData;
  std::optional<TimelineEntry> entry;  // nullopt if the artifact is not in the timeline
  std::vector<std::string> tags;       // for a check-in: its branch and releases; at most 100
};

/// Artifacts that one request brought. If the request brought more artifacts than one call returns,
/// the next call continues.
struct Received {
  std::int64_t receipt = 0;
  std::string login = {};  // login of the sender; empty if the user no longer exists
  base::UnixMillis time = {};
  std::string address = {};  // address of the sender; may be empty
  std::vector<ReceivedArtifact> artifacts = {};
  /// The artifacts of the whole request, including those that earlier calls returned. Empty if the
  /// next call continues the request.
  std::vector<Rid> pushed = {};
};

struct ArrivalBatch {
  std::vector<Received> received;
  ArrivalMark mark;           // position at which to continue
  bool is_at_end = false;     // no artifact has arrived after `mark`
  std::vector<Rid> reported;  // the artifacts in `received`
  std::vector<Rid> deferred;  // artifacts that cannot be reported yet
};

/// Deferred artifacts that can be reported now.
struct ReadyArrivals {
  std::vector<Received> received;
  /// Artifacts to remove from fx_quarry_untold: the artifacts in `received`, and artifacts that
  /// must never be reported.
  std::vector<Rid> finished;
};

class Arrivals {
 public:
  /// REPOSITORY is not owned.
  explicit Arrivals(Repository& repository) : repository_(repository) {}

  /// Creates the index if it is missing. This happens once per file, in a separate write
  /// transaction that reads every row of `blob`. Must not be called while a Snapshot exists.
  /// Errors: kBusy, kNoSpace, kIo.
  Result<void> prepare();

  // Use these functions inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  /// Returns the mark after all artifacts that have arrived so far.
  Result<ArrivalMark> end();
  /// Returns the arrivals after MARK. Examines at most LIMIT (at least 1) artifacts, without
  /// reading their contents. Error: kInvalid (see prepare()).
  Result<ArrivalBatch> after(const ArrivalMark& mark, std::size_t limit);
  /// Returns artifacts that were deferred before MARK and can now be reported: all artifacts of some
  /// requests, at least LIMIT (1 or more) if that many are ready. Reads all deferred rows.
  Result<ReadyArrivals> ready(const ArrivalMark& mark, std::size_t limit);

  // Use these functions inside a Receipt. Errors: kIo, kCorrupt.

  /// Adds the deferred artifacts of BATCH to fx_quarry_untold, and removes the reported artifacts
  /// of BATCH from that table.
  Result<void> defer(const ArrivalBatch& batch);
  /// Removes the finished artifacts of READY from fx_quarry_untold. Call after the artifacts have
  /// been reported.
  Result<void> forget(const ReadyArrivals& ready);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
