// What came since somebody last looked, in the order of the requests that brought it: who sent it
// and when, and which artifacts. For whoever tells others of it (hooks, events), whichever program
// wrote the file.
//
// An artifact counts to the request that brought its content (`blob.rcvid`); one that was known
// before by its name alone, too. An index of our own, `fx_quarry_received` on that column, leads to
// them: it grows at its end, and fossil's rebuild leaves it alone.
//
// Never told is what is shunned. What came and cannot be told yet is put by: a delta whose source has
// not come, a check-in whose baseline has not, and what is private, by itself or until a moderator
// lets it through. It does not come again. So do names of artifacts that are still to come, since a
// program may bring the content with a number of a request that was told of already: `fossil pull`
// has one for all its round trips, and others write meanwhile. A table of our own has their rows:
//
//   fx_quarry_untold(rid)
//
// Whoever notes a mark notes these with it (Arrivals::put_by), in one transaction, and asks for
// those of them that have become ready (Arrivals::ready).
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

/// How far somebody has looked: three numbers, to be stored as they are. The first mark of all is
/// before everything.
struct ArrivalMark {
  std::int64_t receipt = 0;   // rcvfrom.rcvid
  std::int64_t artifact = 0;  // the last one of it: its row
  std::int64_t seen = 0;  // the last row that there was then, of whichever request; 0: not known
  friend bool operator==(const ArrivalMark&, const ArrivalMark&) = default;
};

/// An artifact that came.
struct ReceivedArtifact {
  artifact::HashName name;
  std::int64_t size = 0;  // bytes, uncompressed
  ArtifactKind kind = ArtifactKind::kData;
  std::optional<TimelineEntry> entry;  // what the timeline tells of it, if it does
  std::vector<std::string> tags;       // of a check-in: its branch and releases; at most 100
};

/// What one request brought, or, where there were too many for one call, some of it.
struct Received {
  std::int64_t receipt = 0;
  std::string login;  // of who sent it; empty: nobody who is known any more
  base::UnixMillis time;
  std::string address;  // as it was noted; may be empty
  std::vector<ReceivedArtifact> artifacts;
};

struct ArrivalBatch {
  std::vector<Received> received;
  ArrivalMark mark;          // where to go on
  bool is_at_end = false;    // nothing has come after it
  std::vector<Rid> told;     // the rows of what was received
  std::vector<Rid> put_off;  // not to be told yet
};

/// What was put by and can be told now.
struct ReadyArrivals {
  std::vector<Received> received;
  std::vector<Rid>
      over;  // these rows, and of what is never to be told: not to be put by any longer
};

class Arrivals {
 public:
  /// REPOSITORY is not owned.
  explicit Arrivals(Repository& repository) : repository_(repository) {}

  /// Makes the index where it is not there: once in the life of a file, in a write transaction of
  /// its own, which reads every row of `blob`. No Snapshot may be alive. Errors: kBusy, kNoSpace,
  /// kIo.
  base::Result<void> prepare();

  // Inside a Snapshot or a Receipt; errors of all: kIo, kCorrupt.

  /// Before everything that comes from now on.
  base::Result<ArrivalMark> end();
  /// What came after MARK, looking at no more than LIMIT (at least 1) artifacts. Reads no content.
  /// Error: kInvalid (see prepare()).
  base::Result<ArrivalBatch> after(const ArrivalMark& mark, std::size_t limit);
  /// Of what was put by and came before MARK, what can be told by now, no more than LIMIT. Looks at
  /// all that was put by.
  base::Result<ReadyArrivals> ready(const ArrivalMark& mark, std::size_t limit);

  // Inside a Receipt; errors of both: kIo, kCorrupt.

  /// Notes what of BATCH is not to be told yet, and that the rest of it was.
  base::Result<void> put_by(const ArrivalBatch& batch);
  /// What was READY has been told.
  base::Result<void> forget(const ReadyArrivals& ready);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
