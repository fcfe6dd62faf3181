// From a configuration to the services that the master runs: here, and only here, the process
// manager meets what its children do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"
#include "quarry/master/master.h"

namespace quarry::app {

/// What happens where a log cannot be opened: a first start fails, a reload goes on without it.
enum class Start { kFirst, kReload };

/// The services of CONFIG, which was read from PATH ("": from no file), with their sockets bound and their logs open. Sockets that are among
/// INHERITED are taken from there. Errors: what could not be bound or opened.
base::Result<std::vector<master::Service>> compose(const master::Config& config,
                                                   const std::filesystem::path& path, Start start,
                                                   std::vector<master::InheritedSocket>& inherited);

/// The control socket of CONFIG, which comes from the file or folder ABOUT, in the same way; one
/// that nobody listens on where CONFIG has none. Errors: it could not be bound.
base::Result<master::Control> open_control(const master::Config& config, std::string about,
                                           std::vector<master::InheritedSocket>& inherited);

}  // namespace quarry::app
