// Builds the services that the master runs from a configuration. This is the only place where the
// process manager is combined with what its children do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/master.h"

namespace quarry::app {

/// If a log cannot be opened, a first start fails, and a reload continues without it.
enum class Start { kFirst, kReload };

/// The services of CONFIG, with bound sockets and opened logs. CONFIG was read from PATH ("" if not
/// from a file). Sockets in INHERITED are reused. Errors: what could not be bound or opened.
base::Result<std::vector<master::Service>> compose(const master::Config& config,
                                                   const std::filesystem::path& path, Start start,
                                                   std::vector<master::InheritedSocket>& inherited);

/// The control socket of CONFIG, opened in the same way, or one without a listener if CONFIG has
/// none. ABOUT: the file or folder that the configuration comes from. Error: it could not be bound.
base::Result<master::Control> open_control(const master::Config& config, std::string about,
                                           std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
