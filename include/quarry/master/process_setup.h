// Applies process settings to a new child.
#pragma once

#include <optional>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

/// Applies LIMITS and PRIORITY to this process. If the system refuses one, a warning is logged, and
/// a limit is raised as far as possible.
void limit_process(const ResourceLimits& limits, std::optional<int> priority);

/// Applies SETTINGS and RUN_AS to a new child, in the only order in which all steps are permitted:
/// limits, environment, groups, root folder, user, working folder. Fails if the child would differ
/// from its settings in a way that matters for safety.
base::Result<void> put_in_force(const ProcessSettings& settings,
                                const std::optional<Credentials>& run_as);

}  // namespace quarry::master
