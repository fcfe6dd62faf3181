// Notifies a service manager about the server's state and takes over sockets that the service
// manager has opened. The protocols are systemd's: sd_notify(3) and sd_listen_fds(3). Without a
// service manager all calls do nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::base {

/// Sends STATE, which consists of lines in the format of sd_notify(3) such as "READY=1".
void notify_service_manager(std::string_view state);
/// Returns whether a service manager wants notifications.
bool has_service_manager();
/// Returns how often the service manager expects WATCHDOG=1; nullopt if it does not expect it.
std::optional<std::chrono::microseconds> watchdog_interval();
/// Returns the sockets that the service manager has opened for this process. May be called only
/// once, because it clears the environment variables that describe them.
std::vector<Fd> activated_sockets();

}  // namespace quarry::base
