// The syncs of a pool's repositories with their peers. The master starts `quarry peer run`, a
// process for each sync, when a peer is due (the previous process has set the time), and when a
// worker reports new content that the peer does not have.
//
// They are not jobs of the backoffice, which is one process per repository and minute, under a
// lease: a peer that hangs would delay mail and hooks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "peer_configuration.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// The peers in CONFIG of POOL's repositories.
std::vector<ConfiguredPeer> peers_of(const master::Config& config, const master::PoolConfig& pool);
/// The numbers by which the pool's workers identify PEERS.
worker::PeerNumbers peer_numbers(const std::vector<ConfiguredPeer>& peers);

/// The service's name in the log, for example "peers www".
std::string peers_service_name(const std::string& pool);
/// The job service for PEERS of POOL, whose own service is POOL_SERVICE. COURIER is the courier's
/// socket; "" if there is none. Nothing if there are no peers.
std::optional<master::Service> peers_service(const master::PoolConfig& pool,
                                             const master::Service& pool_service,
                                             const std::vector<ConfiguredPeer>& peers,
                                             const std::string& courier);

}  // namespace quarry::app
