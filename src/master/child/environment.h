// The environment of a child: env[NAME] and, unless clear_env, the master's environment.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Returns the environment for a child with SETTINGS. INHERITED is the master's environment
/// ("NAME=value" strings). A child that changes its user also gets that user's USER and HOME,
/// unless they are set.
Environment environment_of(const ProcessSettings& settings,
                           const std::optional<Credentials>& run_as,
                           const std::vector<std::string>& inherited);

/// Sets this process's environment. Also overwrites the memory in which exec(2) has stored the
/// original one, so that the child cannot leak variables that were cleared. /proc/PID/environ then
/// shows the new environment, which is truncated if it is longer, because that memory cannot grow.
void set_environment(const ProcessSettings& settings, const std::optional<Credentials>& run_as);

}  // namespace quarry::master
