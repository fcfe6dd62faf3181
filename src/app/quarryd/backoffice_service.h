// What a pool's repositories have done for them when nobody waits: `quarry backoffice`, which the
// master starts when a worker says that a run is due, and now and then by itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// The job service of POOL, whose service is POOL_SERVICE. COURIER is the socket of the courier; "":
/// there is none. Nothing where the pool wants none, or cannot have one, which
/// the log then has.
std::optional<master::Service> backoffice_service(const master::PoolConfig& pool,
                                                  const master::Service& pool_service,
                                                  const worker::BackgroundOptions& options,
                                                  const std::string& courier);

/// Whether a run is due in REPOSITORY, for BackgroundOptions::look.
base::Result<worker::BackgroundCheck> look_for_work(repository::Repository& repository,
                                                    std::chrono::milliseconds lease_time);

}  // namespace quarry::app
