// A new process is made what its settings say.
#pragma once

#include <optional>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

/// Puts LIMITS and PRIORITY in force for this process. What the system refuses is no reason not to
/// run: a warning says so, and a limit is then raised as far as it can be.
void limit_process(const ResourceLimits& limits, std::optional<int> priority);

/// Makes a new child what SETTINGS and RUN_AS say, in the one order in which all of it is possible:
/// limits, environment, groups, root folder, user, working folder. Errors: what would make it
/// another process than the one that was asked for.
base::Result<void> put_in_force(const ProcessSettings& settings,
                                const std::optional<Credentials>& run_as);

}  // namespace quarry::master
