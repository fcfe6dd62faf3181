// The `quarry replica` commands.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

/// Adds the subcommands to REPLICA. Sets RUN as described at arguments_of().
void add_replica(CLI::App& replica, Run& run);

}  // namespace quarry::app
