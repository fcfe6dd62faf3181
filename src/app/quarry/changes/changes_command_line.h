// The command line of `quarry submit` and `quarry queue`.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

/// Adds the options to COMMAND. Sets RUN as described at arguments_of().
void add_submit(CLI::App& command, Run& run);
/// Adds the subcommands with their options. Sets RUN as described at arguments_of().
void add_queue(CLI::App& queue, Run& run);

}  // namespace quarry::app
