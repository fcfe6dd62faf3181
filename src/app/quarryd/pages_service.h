// The service that makes a pool's web pages.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "quarry/base/passed_connections.h"
#include "quarry/master/config.h"
#include "quarry/master/handover.h"
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

/// The figures that a reload passes on: their values, and the memory that processes of earlier
/// generations still use. `memories` also contains the certificates of the HTTP front (compose.cc).
struct EarlierFigures {
  master::ServiceCounters counters;
  std::vector<master::InheritedMemory> memories;

  /// Returns a duplicate of the memory NAME if it has LAYOUT and its service still runs as RUN_AS.
  /// Otherwise returns an empty object.
  base::Fd take_memory(std::string_view name, std::uint64_t layout,
                       const std::optional<master::Credentials>& run_as);
};

/// Returns the service, or nullopt if POOL, with OPTIONS, does not serve pages. The counters of the
/// service continue those in EARLIER. Errors: kIo.
Result<std::optional<PagesService>> pages_service(const master::PoolConfig& pool,
                                                  const worker::WorkerOptions& options,
                                                  EarlierFigures& earlier);

}  // namespace quarry::app
