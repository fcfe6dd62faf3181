// Notifies a service manager about the server's state and takes over sockets that it has opened, by
// systemd's protocols: sd_notify(3) and sd_listen_fds(3). Without a service manager all calls do
// nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::base {

/// Sends STATE, lines in the format of sd_notify(3) such as "READY=1".
void notify_service_manager(std::string_view state);
/// Whether a service manager wants notifications.
bool has_service_manager();
/// How often it expects WATCHDOG=1; nullopt: never.
std::optional<std::chrono::microseconds> watchdog_interval();
/// The sockets that it has opened for this process. May be called once only, because it clears the
/// environment variables that describe them.
std::vector<Fd> activated_sockets();

}  // namespace quarry::base
