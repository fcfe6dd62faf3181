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

/// The environment for a child with SETTINGS, if the master's is INHERITED ("NAME=value" each). A
/// child that changes its user also gets that user's USER and HOME, unless they are set.
Environment environment_of(const ProcessSettings& settings,
                           const std::optional<Credentials>& run_as,
                           const std::vector<std::string>& inherited);

/// Sets this process's environment. Also overwrites the memory in which exec(2) has stored the
/// original one, so that the child cannot leak cleared secrets, and /proc/PID/environ shows the new
/// environment (truncated, since that memory cannot grow).
void set_environment(const ProcessSettings& settings, const std::optional<Credentials>& run_as);

}  // namespace quarry::master
