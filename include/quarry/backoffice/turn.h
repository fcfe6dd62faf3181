// Whose turn a repository's background work is: the lease (lease.h) in its file.
#pragma once

#include <chrono>
#include <cstdint>

#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/lease.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

// What `fossil` calls them: settings of a repository.
inline constexpr const char* kDisableSetting = "backoffice-disable";
inline constexpr const char* kNoDelaySetting = "backoffice-nodelay";
inline constexpr const char* kLogFileSetting = "backoffice-logfile";

struct TurnOptions {
  std::chrono::seconds lease_time{60};
  /// False: run at once or not at all, as with the setting `backoffice-nodelay`.
  bool may_wait = true;
};

/// What is to be seen of a repository's background work without writing.
struct RunForecast {
  bool is_wanted = false;  // another process would have something to do
  /// Of one that is not wanted: until then (in seconds since 1970) that stays so, whatever is asked
  /// of the repository. 0: it may change at any moment.
  std::int64_t until = 0;
};

/// Whether a process is to be started after a request. Reads, no more. Errors: kIo, kBusy.
base::Result<RunForecast> forecast_run(repository::Repository& repository,
                                       const TurnOptions& options,
                                       const ProcessTable& processes = real_processes());

/// Decides for the process SELF, and has the lease say so. Writes nothing where SELF is to leave.
/// Errors: kBusy (the write lock is not to be had), kNoSpace, kIo.
base::Result<Decision> take_turn(repository::Repository& repository, std::int64_t self,
                                 const TurnOptions& options,
                                 const ProcessTable& processes = real_processes());

}  // namespace quarry::backoffice
