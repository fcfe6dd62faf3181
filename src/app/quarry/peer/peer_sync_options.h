// Finds the configured peers, and how to connect to them.
#pragma once

#include <string>
#include <vector>

#include "peer_configuration.h"
#include "quarry/backoffice/peer_sync.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

/// The peers in the configuration file CONFIG. Error: kInvalid if it is invalid.
base::Result<std::vector<ConfiguredPeer>> configured_peers(const std::string& config);

/// The options with which this process syncs REPOSITORY with PEER.
backoffice::PeerSyncOptions peer_sync_options(const backoffice::PeerOptions& peer,
                                              repository::Repository& repository);

}  // namespace quarry::app
