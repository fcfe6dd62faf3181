// Makes a repository file smaller while it is in use. Like `fossil rebuild --compress`, stores old
// versions as deltas on newer ones.
//
// Compaction makes passes over the artifacts, newest first, and does each pass in slices. The row
// `quarry-compaction` of `config` holds the position. A pass covers the artifacts that arrived
// since the previous pass and the versions that they replaced. A pass covers all artifacts if it is
// the first pass, if a phantom was filled, or if a quarter of the artifacts is new. A pass is made
// only if there are new artifacts.
//
// The write lock is held for about 20 milliseconds at a time, longer only for the largest
// artifacts. New content is compared with its hash before the commit. An interruption does not
// damage the file. Artifacts that cannot be read or do not match their hash are left unchanged.
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

struct CompactionOptions {
  /// Called after each artifact. If it returns true, the slice ends. Optional.
  std::function<bool()> is_over = {};
  /// Called with the number of row ids that the pass has covered, and their total number. Optional.
  std::function<void(std::size_t, std::size_t)> progress = {};
  /// Pause between two transactions, as a multiple of the time spent in the previous transaction.
  /// The pause is at most one second.
  double rest = 0;
  /// Whether to make a pass over all artifacts. Ignored if no artifact has arrived since the last
  /// pass over all artifacts.
  bool is_whole = false;
};

struct CompactedSlice {
  bool is_done = false;      // no work is left
  std::size_t examined = 0;  // artifacts
  std::size_t rewritten = 0;
  /// Stored size of the rewritten artifacts, before and after the slice, in bytes.
  std::int64_t size_before = 0;
  std::int64_t size_after = 0;
  std::size_t damaged = 0;
  std::vector<std::string> damage;  // "HASH: problem"; at most 100
  /// The longest time for which the write lock was held.
  std::chrono::microseconds longest_lock{};
};

class Compaction {
 public:
  /// REPOSITORY is not owned. Only has_reversed_deltas() may be called while a Snapshot or Receipt
  /// exists.
  explicit Compaction(Repository& repository) : repository_(repository) {}

  /// Works until no work is left or OPTIONS.is_over returns true. Errors: kInvalid (unknown
  /// schema), kBusy, kNoSpace, kReadOnly, kIo, kCorrupt (written content could not be read back;
  /// the transaction is rolled back).
  Result<CompactedSlice> run(const CompactionOptions& options = {});

  /// Returns whether a delta was replaced within the last day. In that case, a client that reads
  /// several snapshots might get A as a delta on B, and B as a delta on A. The client could then
  /// expand neither A nor B. Use inside a Snapshot.
  bool has_reversed_deltas();

  /// Returns free pages to the file system. Rewrites the whole file. This blocks writers, and
  /// temporarily needs the same amount of disk space again. Errors: kBusy, kNoSpace, kIo.
  Result<void> vacuum();
  /// Returns the size of the free pages, in bytes.
  Result<std::int64_t> free_space();

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
