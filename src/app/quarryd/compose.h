// Builds the services of the master from a configuration. Only this module connects the process
// manager with the code of its children.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "log_service.h"
#include "pages_service.h"
#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/master.h"

namespace quarry::app {

/// Whether the server starts, reloads, or continues with the previous configuration after a reload
/// that has failed. If a log cannot be opened, the server does not start, but a reload continues
/// without this log. Certificates are not read again if the server continues.
enum class Start { kFirst, kReload, kContinue };

/// The memory with the lost lines of the error log. A reload passes it on.
inline constexpr const char* kErrorLogMemory = "lost lines";

/// Returns the services of CONFIG, with bound sockets and opened logs. CONFIG was read from PATH,
/// or from the command line if PATH is "". Sockets in INHERITED and memory in EARLIER are reused.
/// LOGS are the destinations of logs.
/// Errors: a socket cannot be bound, or a log cannot be opened.
Result<std::vector<master::Service>> compose(const master::Config& config,
                                             const std::filesystem::path& path, Start start,
                                             std::vector<master::InheritedSocket>& inherited,
                                             EarlierFigures& earlier, const LogDestinations& logs);

/// Returns the control socket of CONFIG, or an object without a listener if CONFIG does not set a
/// control socket. Sockets in INHERITED are reused. ABOUT is the configuration file or the served
/// folder. Errors: the socket cannot be bound.
Result<master::Control> open_control(const master::Config& config, std::string about,
                                     std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
