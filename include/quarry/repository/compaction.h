// Making a repository file smaller while others use it: old versions become deltas on newer ones, as
// `fossil rebuild --compress` leaves them.
//
// It is done in passes over the artifacts, the newest first, and a pass a slice at a time: where it
// is stands in the row `quarry-compaction` of `config`. A pass looks at what came since the one
// before, and at what that made old; at everything where nothing was looked at yet, where a phantom
// was filled, or where a quarter has come since. Where nothing came there is none, and nothing is
// written.
//
// The write lock is held for some 20 milliseconds at once; only the largest artifacts take longer.
// Whatever ends it, the file is right: what it writes is compared with its hash before it is
// committed. What cannot be read, or is not what its name says, is left as it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::repository {

class Repository;

/// All may be empty.
struct CompactionOptions {
  /// Asked after each artifact; then the slice ends.
  std::function<bool()> is_over = {};
  /// Is told (done, total) row numbers of the pass.
  std::function<void(std::size_t, std::size_t)> progress = {};
  /// Between two transactions it sleeps so many times as long as it worked, at most a second.
  double rest = 0;
  /// Look at everything, unless nothing has come since that was done.
  bool is_whole = false;
};

struct CompactedSlice {
  bool is_done = false;       // nothing is left to do
  std::size_t looked_at = 0;  // artifacts
  std::size_t rewritten = 0;
  /// What those that were rewritten took in the file, and take now, in bytes.
  std::int64_t size_before = 0;
  std::int64_t size_after = 0;
  std::size_t damaged = 0;
  std::vector<std::string> damage;  // "HASH: what is wrong"; at most 100
  /// The longest time for which others could not write.
  std::chrono::microseconds longest_lock{};
};

class Compaction {
 public:
  /// REPOSITORY is not owned. No Snapshot and no Receipt may be alive in any of these.
  explicit Compaction(Repository& repository) : repository_(repository) {}

  /// Goes on until nothing is left or OPTIONS says that it is over. Errors: kInvalid (a schema that is
  /// not known), kBusy, kNoSpace, kReadOnly, kIo; kCorrupt where what was written does not read back (it is undone).
  base::Result<CompactedSlice> run(const CompactionOptions& options = {});

  /// Whether, within the last day, a delta was taken away. Who reads a repository in several
  /// snapshots may then have an artifact as a delta on one which is a delta on the first by now.
  /// Inside a Snapshot.
  bool has_turned_lately();

  /// Gives the pages that are free back to the disk: writes the whole file anew, which needs as much
  /// space beside it, and keeps others from writing meanwhile. Errors: kBusy, kNoSpace, kIo.
  base::Result<void> vacuum();
  /// The bytes of the pages that are free.
  base::Result<std::int64_t> free_space();

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
