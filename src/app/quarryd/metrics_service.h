// The service that answers scrapers of metrics on metrics.listen (gateway/metrics_server.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log_service.h"
#include "quarry/base/access_log.h"
#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/listener.h"
#include "quarry/master/service.h"
#include "quarry/pages/figures.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::app {

struct MetricsSources {
  std::shared_ptr<scoreboard::Overview> overview;
  pages::ServerSources server;  // figures of the queues and the courier
  /// The counters of the pages of each pool that serves pages.
  std::vector<std::pair<std::string, std::shared_ptr<const pages::Figures>>> pages;
  /// The access logs of the pools that have one.
  std::vector<std::pair<std::string, std::shared_ptr<const base::AccessLog>>> access_logs = {};
  LogDestinations logs = {};
  std::string replica_socket = {};  // of quarry-replica; "" without replication
};

/// Returns the service. The service runs as the user of the first pool, and does not open
/// repositories. Sockets in INHERITED are reused. Errors: the address cannot be bound.
Result<master::Service> metrics_service(const master::Config& config, MetricsSources sources,
                                        std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
