// Telling a service manager how the server is doing, and taking the sockets that it has opened: the
// protocol of systemd, sd_notify(3) and sd_listen_fds(3). Without one every call does nothing.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"

namespace quarry::base {

/// Sends STATE, lines as sd_notify(3) has them: "READY=1".
void notify_service_manager(std::string_view state);
/// Whether there is one that listens.
bool has_service_manager();
/// How often it wants to hear WATCHDOG=1; nothing: never.
std::optional<std::chrono::microseconds> watchdog_interval();
/// The sockets that it has opened for this process. Call it once: the environment that tells of
/// them is cleared.
std::vector<Fd> activated_sockets();

}  // namespace quarry::base
