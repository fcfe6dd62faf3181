// The syncs of a pool's repositories with their peers: `quarry peer run`, a process for each sync,
// which the master starts when a peer's time has come (the process before has said when), and when a
// worker says that something came which the peer has not had.
//
// They are no job of the backoffice: that is one process a repository and minute, under a lease, and
// a peer that hangs would keep mail and hooks waiting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "peer_configuration.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// Those of CONFIG's peers whose repositories are POOL's.
std::vector<ConfiguredPeer> peers_of(const master::Config& config, const master::PoolConfig& pool);
/// What workers of their pool call PEERS.
worker::PeerNumbers peer_numbers(const std::vector<ConfiguredPeer>& peers);

/// As in the log: "peers www".
std::string peers_service_name(const std::string& pool);
/// The job service of PEERS, which are POOL's, whose service is POOL_SERVICE. COURIER is the socket of
/// the courier; "": there is none. Nothing where there are no peers.
std::optional<master::Service> peers_service(const master::PoolConfig& pool,
                                             const master::Service& pool_service,
                                             const std::vector<ConfiguredPeer>& peers,
                                             const std::string& courier);

}  // namespace quarry::app
