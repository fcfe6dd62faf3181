// The command line of `quarry spool`.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

/// Adds the subcommands to SPOOL. Sets RUN as described at arguments_of().
void add_spool(CLI::App& spool, Run& run);

}  // namespace quarry::app
