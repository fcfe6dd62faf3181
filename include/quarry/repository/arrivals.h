// The artifacts that have arrived since a mark, grouped by the request that brought them, with the
// sender and time of each request. Hooks and events report these artifacts, whichever program
// stored them.
//
// An artifact belongs to the request that brought its content (`blob.rcvid`), even if it was a
// phantom before. Our own index on that column, `fx_quarry_received`, finds these artifacts. New
// rows are added at the end of the index, and `fossil rebuild` does not change it.
//
// Shunned artifacts are never reported. An artifact is deferred if it cannot be reported yet: if it
// is a delta whose source is missing, a check-in whose baseline is missing, or private (artifacts
// that await a moderator are private). Phantoms are deferred too, because their content may arrive
// under the number of a request that has already been reported: `fossil pull` uses one number for
// all its round trips, and other programs may write between them. The deferred rows are in our own
// table:
//
//   fx_quarry_untold(rid)
//
// A consumer saves its mark and the deferred rows in one transaction (Arrivals::defer), and later
// asks which of the deferred artifacts can be reported now (Arrivals::ready).
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

/// The position of a consumer, which stores it unchanged. The default mark is before all artifacts.
struct ArrivalMark {
  std::int64_t receipt = 0;   // rcvfrom.rcvid
  std::int64_t artifact = 0;  // blob.rid of the last artifact seen in that request
  std::int64_t seen = 0;      // the highest blob.rid of any request at that time; 0 if unknown
  friend bool operator==(const ArrivalMark&, const ArrivalMark&) = default;
};

/// An artifact that arrived.
struct ReceivedArtifact {
  artifact::HashName name;
  std::int64_t size = 0;  // bytes, uncompressed
  ArtifactKind kind = ArtifactKind::kData;
  std::optional<TimelineEntry> entry;  // if the artifact is in the timeline
  std::vector<std::string> tags;       // for a check-in: its branch and releases; at most 100
};

/// The artifacts of one request, or some of them if there are too many for one call.
struct Received {
  std::int64_t receipt = 0;
  std::string login = {};  // login of the sender; empty if the user no longer exists
  base::UnixMillis time = {};
  std::string address = {};  // address of the sender; may be empty
  std::vector<ReceivedArtifact> artifacts = {};
};

struct ArrivalBatch {
  std::vector<Received> received;
  ArrivalMark mark;           // position to continue from
  bool is_at_end = false;     // nothing has arrived after MARK
  std::vector<Rid> reported;  // rows in RECEIVED
  std::vector<Rid> deferred;  // rows that cannot be reported yet
};

/// Deferred artifacts that can be reported now.
struct ReadyArrivals {
  std::vector<Received> received;
  /// Rows that no longer have to be deferred: those in RECEIVED, and those that must never be
  /// reported.
  std::vector<Rid> finished;
};

class Arrivals {
 public:
  /// REPOSITORY is not owned.
  explicit Arrivals(Repository& repository) : repository_(repository) {}

  /// Creates the index if it is missing. This happens once per file, in a separate write
  /// transaction that reads every row of `blob`. No Snapshot may be alive. Errors: kBusy, kNoSpace,
  /// kIo.
  base::Result<void> prepare();

  // Use these functions inside a Snapshot or a Receipt. All of them may return kIo or kCorrupt.

  /// The mark after all artifacts that have arrived so far.
  base::Result<ArrivalMark> end();
  /// The arrivals after MARK. Examines at most LIMIT (at least 1) artifacts, without reading their
  /// contents. Error: kInvalid (see prepare()).
  base::Result<ArrivalBatch> after(const ArrivalMark& mark, std::size_t limit);
  /// At most LIMIT deferred artifacts from before MARK that have become ready. Examines all
  /// deferred rows.
  base::Result<ReadyArrivals> ready(const ArrivalMark& mark, std::size_t limit);

  // Use these functions inside a Receipt. Both may return kIo or kCorrupt.

  /// Saves the deferred rows of BATCH, and removes its reported rows from the table.
  base::Result<void> defer(const ArrivalBatch& batch);
  /// Removes the finished rows of READY from the table, after they were reported.
  base::Result<void> forget(const ReadyArrivals& ready);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
