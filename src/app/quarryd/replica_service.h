// Replication as a service of the master: a quarry-replica process, which runs as the user of the
// replicated pools. Their workers and pages processes connect to its socket (control/publication.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "replica_configuration.h"

namespace quarry::app {

/// The socket of quarry-replica. Only the user of the replicated pools can connect to it.
struct ReplicaSocket {
  base::SocketAddress address;
  base::ListenOptions options;
  std::string location;  // FILE:LINE of the section
};
/// Returns the socket for REPLICA, which was read from CONFIG. Error: kInvalid (the path is too
/// long).
Result<ReplicaSocket> replica_socket(const master::Config& config, const ReplicaConfig& replica);

/// Returns the settings of the process.
master::ProcessSettings replica_process();

/// Returns the service for [replication] in CONFIG, with its socket bound, or nullopt if CONFIG does
/// not have this section. CONFIG was read from PATH. Error: the socket cannot be bound.
Result<std::optional<master::Service>> replica_service(
    const master::Config& config, const std::filesystem::path& path,
    std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
