// What came since somebody last looked, in the order of the requests that brought it: who sent it
// and when, and which artifacts. For whoever tells others of it (hooks, events), whichever program
// wrote the file.
//
// An artifact counts to the request that brought its content (`blob.rcvid`); one that was known
// before by its name alone, too. An index of our own, `fx_quarry_received` on that column, leads to
// them: it grows at its end, and fossil's rebuild leaves it alone.
//
// Left out, and never told: what is private or shunned, and phantoms. What is there but cannot be
// used yet (a delta whose source has not come, a check-in whose baseline has not, what a moderator
// has not let through) is told of by name only: it does not come again, but one may ask for it by
// Arrivals::find().
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

namespace quarry::repository {

class Repository;

/// How far somebody has looked: two numbers, to be stored as they are. The first mark of all is
/// before everything.
struct ArrivalMark {
  std::int64_t receipt = 0;   // rcvfrom.rcvid
  std::int64_t artifact = 0;  // the last one of it: its row
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
  std::vector<artifact::HashName> waiting;  // not to be used yet
};

struct ArrivalBatch {
  std::vector<Received> received;
  ArrivalMark mark;        // where to go on
  bool is_at_end = false;  // nothing has come after it
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
  /// The artifact NAME; nothing where it is not there, still waits, or is not for everybody.
  base::Result<std::optional<ReceivedArtifact>> find(const artifact::HashName& name);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
