// Where a peer is, by the configuration or by what the repository remembers; and which there are.
#pragma once

#include <string>
#include <vector>

#include "peer_configuration.h"
#include "quarry/backoffice/peer_sync.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

/// The peers of the configuration file CONFIG. Error kInvalid: it is wrong.
base::Result<std::vector<ConfiguredPeer>> configured_peers(const std::string& config);

/// How PEER of REPOSITORY is synced with by this process.
backoffice::PeerSyncOptions peer_sync_options(const backoffice::PeerOptions& peer,
                                              repository::Repository& repository);

}  // namespace quarry::app
