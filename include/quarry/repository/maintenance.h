// Incremental maintenance of a repository file while it is in use.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

class Repository;

struct VerifiedSlice {
  Rid next = 0;  // artifact with which to continue; 0 if all artifacts are verified
  std::size_t artifacts = 0;
  std::vector<std::string> damage = {};  // "HASH: problem"; at most 100
};

class Maintenance {
 public:
  /// REPOSITORY is not owned. Do not call any function while a Snapshot or Receipt exists.
  explicit Maintenance(Repository& repository) : repository_(repository) {}

  /// Deletes expired check-in locks, and rows of fossil's access log that are older than
  /// ACCESS_LOG_KEPT. Does not write if no rows have to be deleted. Returns the number of deleted
  /// rows. Errors: kBusy, kNoSpace, kIo.
  Result<std::size_t> prune(std::chrono::hours access_log_kept);
  /// Updates SQLite's table statistics if they are outdated (`PRAGMA optimize`), in bounded time.
  /// Errors: kBusy, kNoSpace, kIo.
  Result<void> optimize();
  /// Verifies the hashes of artifacts, starting with FIRST, until IS_OVER returns true. IS_OVER is
  /// called after each artifact. Errors: kIo.
  Result<VerifiedSlice> verify(Rid first, const std::function<bool()>& is_over);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
