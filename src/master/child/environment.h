// The environment of a child: what clear_env leaves of the master's, and env[NAME].
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// What a child with SETTINGS gets where the master has INHERITED ("NAME=value" each). A child that
/// becomes somebody else also gets that user's USER and HOME, unless they are set.
Environment environment_of(const ProcessSettings& settings,
                           const std::optional<Credentials>& run_as,
                           const std::vector<std::string>& inherited);

/// Makes it this process's environment. Also overwrites the memory in which exec(2) left the
/// original one, so that a cleared secret is not there for the child to leak, and /proc/PID/environ
/// shows what is in force (as much of it as fits: the memory cannot grow).
void set_environment(const ProcessSettings& settings, const std::optional<Credentials>& run_as);

}  // namespace quarry::master
