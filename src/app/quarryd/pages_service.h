// The service that makes a pool's web pages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "quarry/base/passed_connections.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/pages/figures.h"
#include "quarry/scoreboard/refusal_tally.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// The service, and the socket pair through which the service receives connections. All services
/// that use an end of the pair share ownership of the pair.
struct PagesService {
  master::Service service;
  std::shared_ptr<base::PassedConnections> connections;
  std::shared_ptr<const pages::Figures> figures;
  std::shared_ptr<const scoreboard::RefusalTally> refusals;
};

/// Counters by name, as in `quarry status`.
using Counters = std::map<std::string, std::uint64_t>;

/// Returns the service, or nullopt if POOL, with OPTIONS, does not serve pages. The counts begin with
/// COUNTERS, the counters before a reload. Errors: kIo.
base::Result<std::optional<PagesService>> pages_service(const master::PoolConfig& pool,
                                                        const worker::WorkerOptions& options,
                                                        const Counters& counters);

}  // namespace quarry::app
