// The background work of a pool's repositories: the master starts `quarry backoffice` when a worker
// reports that a run is due, and periodically.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// The job service for POOL, whose own service is POOL_SERVICE. COURIER is the courier's socket; ""
/// if there is none. Nothing if the pool does not want a backoffice, or cannot have one, which is
/// logged.
std::optional<master::Service> backoffice_service(const master::PoolConfig& pool,
                                                  const master::Service& pool_service,
                                                  const worker::BackgroundOptions& options,
                                                  const std::string& courier);

/// Whether a run is due in REPOSITORY, for BackgroundOptions::look.
base::Result<worker::BackgroundCheck> look_for_work(repository::Repository& repository,
                                                    std::chrono::milliseconds lease_time);

}  // namespace quarry::app
