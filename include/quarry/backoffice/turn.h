// Takes turns at a repository's background work, using the lease (lease.h) in its file.
#pragma once

#include <chrono>
#include <cstdint>

#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/lease.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

// The repository's settings, as fossil names them.
inline constexpr const char* kDisableSetting = "backoffice-disable";
inline constexpr const char* kNoDelaySetting = "backoffice-nodelay";
inline constexpr const char* kLogFileSetting = "backoffice-logfile";

struct TurnOptions {
  std::chrono::seconds lease_time{60};
  /// False: run immediately or not at all, like the setting `backoffice-nodelay`.
  bool may_wait = true;
};

/// Whether background work is due, determined without writing.
struct RunForecast {
  bool is_wanted = false;  // a process should be started
  /// If none is wanted: this stays true until then (seconds since 1970), regardless of requests. 0:
  /// it may change at any moment.
  std::int64_t until = 0;
};

/// Whether to start a process after a request. Read-only. Errors: kIo, kBusy.
base::Result<RunForecast> forecast_run(repository::Repository& repository,
                                       const TurnOptions& options,
                                       const ProcessTable& processes = real_processes());

/// Decides for the process SELF and updates the lease. Writes nothing if SELF should leave. Errors:
/// kBusy (cannot get the write lock), kNoSpace, kIo.
base::Result<Decision> take_turn(repository::Repository& repository, std::int64_t self,
                                 const TurnOptions& options,
                                 const ProcessTable& processes = real_processes());

}  // namespace quarry::backoffice
