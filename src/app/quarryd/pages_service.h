// The process of a pool that has its web pages made.
#pragma once

#include <memory>
#include <optional>

#include "quarry/base/passed_connections.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/pages/figures.h"
#include "quarry/scoreboard/refusal_tally.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// It, and the way to it for those who pass connections on: shared by the closures of all services
/// that have an end of it.
struct PagesService {
  master::Service service;
  std::shared_ptr<base::PassedConnections> connections;
  std::shared_ptr<const pages::Figures> figures;
  std::shared_ptr<const scoreboard::RefusalTally> refusals;
};

/// Nothing where POOL, with OPTIONS, has none. Errors: kIo.
base::Result<std::optional<PagesService>> pages_service(const master::PoolConfig& pool,
                                                        const worker::WorkerOptions& options);

}  // namespace quarry::app
