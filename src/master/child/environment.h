// The environment of a child: env[NAME] and, unless clear_env is set, the master's environment.
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
/// ("NAME=value" strings). The child does not inherit the variables with which a service manager
/// identifies the master. If the child changes its user, USER and HOME are set to the new user's
/// values, unless SETTINGS contain values for these variables.
Environment environment_of(const ProcessSettings& settings,
                           const std::optional<Credentials>& run_as,
                           const std::vector<std::string>& inherited);

/// Sets this process's environment. Also overwrites the memory in which exec(2) has stored the
/// original environment, so that the child cannot leak cleared variables. /proc/PID/environ then
/// shows the new environment. The shown environment is truncated if it is longer than the original,
/// because the memory cannot grow.
void set_environment(const ProcessSettings& settings, const std::optional<Credentials>& run_as);

}  // namespace quarry::master
