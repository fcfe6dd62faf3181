// Decides whether a process may do a repository's background work now. The decision uses the lease
// (lease.h) in the repository.
#pragma once

#include <chrono>
#include <cstdint>

#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/lease.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

// Names of fossil's settings that also apply to Quarry.
inline constexpr const char* kDisableSetting = "backoffice-disable";
inline constexpr const char* kNoDelaySetting = "backoffice-nodelay";

struct TurnOptions {
  std::chrono::seconds lease_time{60};
  /// If false, run immediately or not at all, as with the `backoffice-nodelay` setting.
  bool may_wait = true;
};

/// Whether background work is due. The check does not write to the repository.
struct RunForecast {
  bool is_wanted = false;  // whether to start a process
  /// If is_wanted is false, it stays false until this time (seconds since 1970), regardless of
  /// requests. If the time is 0, is_wanted can become true at any moment.
  std::int64_t until = 0;
};

/// Returns whether to start a process after a request. Read-only. Errors: kIo, kBusy.
Result<RunForecast> forecast_run(repository::Repository& repository, const TurnOptions& options,
                                 const ProcessTable& processes = real_processes());

/// Decides whether the process SELF runs, waits or leaves, and updates the lease. For kLeave, the
/// function does not write. Errors: kBusy (cannot get the write lock), kNoSpace, kIo.
Result<Decision> take_turn(repository::Repository& repository, std::int64_t self,
                           const TurnOptions& options,
                           const ProcessTable& processes = real_processes());

}  // namespace quarry::backoffice
