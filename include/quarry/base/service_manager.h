// Reports the server's state to a service manager, and takes over sockets that the service manager
// has opened. The protocols are systemd's: sd_notify(3) and sd_listen_fds(3). Without a service
// manager, the functions do nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::base {

/// Sends STATE, lines in the format of sd_notify(3) such as "READY=1".
void notify_service_manager(std::string_view state);
bool has_service_manager();
/// Returns the interval at which the service manager expects WATCHDOG=1, or nullopt if its watchdog
/// is off.
std::optional<std::chrono::microseconds> watchdog_interval();
/// Returns the sockets that the service manager has opened for this process. Must be called only
/// once, because the function clears the environment variables that describe the sockets.
std::vector<Fd> activated_sockets();

}  // namespace quarry::base
