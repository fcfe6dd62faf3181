// Builds the services that the master runs from a configuration. Only this module connects the
// process manager with the code that its children run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/master.h"

namespace quarry::app {

/// If a log cannot be opened, a first start fails; a reload continues without the log.
enum class Start { kFirst, kReload };

/// Returns the services of CONFIG, with bound sockets and opened logs. CONFIG was read from PATH,
/// which is "" if it is not from a file. Sockets in INHERITED are reused. Errors: a socket could
/// not be bound or a log not be opened.
base::Result<std::vector<master::Service>> compose(const master::Config& config,
                                                   const std::filesystem::path& path, Start start,
                                                   std::vector<master::InheritedSocket>& inherited);

/// Returns the control socket of CONFIG, opened in the same way, or one without a listener if
/// CONFIG has none. ABOUT is the file or folder that the configuration is from. Errors: it could
/// not be bound.
base::Result<master::Control> open_control(const master::Config& config, std::string about,
                                           std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
