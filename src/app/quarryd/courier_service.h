// The courier as a service of the master: quarry-courier, one process, which others hand events to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/courier/courier_config.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"
#include "quarry/master/service.h"

namespace quarry::app {

/// The program called NAME: beside this one, as it was built, or in FOLDER, where it is installed.
std::filesystem::path program_beside(const std::string& name, const std::filesystem::path& folder);

/// Where the courier listens, whose its socket is, as whom it runs (nothing: as the master), and
/// FILE:LINE of its section.
struct CourierSocket {
  base::SocketAddress address;
  base::ListenOptions options;
  std::optional<master::Credentials> runs_as;
  std::string place;
};
/// That of the [courier] in CONFIG; nothing: there is none. Errors: there is no such user.
base::Result<std::optional<CourierSocket>> courier_socket(const master::Config& config);

/// The service of the [courier] in CONFIG, which was read from PATH, with its socket bound. Nothing:
/// there is none. Errors: there is no such user, or the socket cannot be bound.
base::Result<std::optional<master::Service>> courier_service(
    const master::Config& config, const std::filesystem::path& path,
    std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
