// The courier as a service of the master: a quarry-courier process, which accepts events from other
// processes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/courier/options.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"
#include "quarry/master/service.h"

namespace quarry::app {

/// Returns the path of the program NAME: next to this program if it exists there, otherwise in
/// FOLDER, the folder for installed programs.
std::filesystem::path program_beside(const std::string& name, const std::filesystem::path& folder);

/// Returns whether processes of POOL connect to the courier of CONFIG. Processes in a chroot never
/// do.
bool hands_over_events(const master::Config& config, const master::PoolConfig& pool);

/// The courier's socket and its permissions, the user that runs the courier (nullopt: the master's
/// user), and FILE:LINE of the section.
struct CourierSocket {
  base::SocketAddress address;
  base::ListenOptions options;
  std::optional<master::Credentials> runs_as;
  std::string location;
};
/// Returns the socket for [courier] in CONFIG, or nullopt if CONFIG does not have this section.
/// Errors: the user does not exist.
Result<std::optional<CourierSocket>> courier_socket(const master::Config& config);

/// Returns the settings of the process of the courier in CONFIG.
master::ProcessSettings courier_process(const courier::CourierConfig& config);

/// Returns the service for [courier] in CONFIG, with its socket bound, or nullopt if CONFIG does
/// not have this section. CONFIG was read from PATH. Errors: the user does not exist, or the socket
/// cannot be bound.
Result<std::optional<master::Service>> courier_service(
    const master::Config& config, const std::filesystem::path& path,
    std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
