// Keeping a repository file in order, a little at a time, while others use it.
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
  Rid next = 0;  // where to go on; 0: that was the last one
  std::size_t artifacts = 0;
  std::vector<std::string> damage;  // "HASH: what is wrong"; at most 100
};

class Maintenance {
 public:
  /// REPOSITORY is not owned. No Snapshot and no Receipt may be alive in any of these.
  explicit Maintenance(Repository& repository) : repository_(repository) {}

  /// Forgets locks on check-ins whose time is over, and rows of fossil's access log that are older
  /// than ACCESS_LOG_KEPT. Writes only where there is any. Returns how many rows went. Errors: kBusy,
  /// kNoSpace, kIo.
  base::Result<std::size_t> prune(std::chrono::hours access_log_kept);
  /// Has SQLite look whether its statistics of tables are still true, as its `PRAGMA optimize` does,
  /// in bounded time. Errors: kBusy, kNoSpace, kIo.
  base::Result<void> optimize();
  /// Reads artifacts from FIRST on and compares each with its name, until IS_OVER, which is asked
  /// after each. Errors: kIo.
  base::Result<VerifiedSlice> verify(Rid first, const std::function<bool()>& is_over);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
