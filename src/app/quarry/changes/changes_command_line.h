// The words of `quarry submit` and `quarry queue`.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

/// Adds them to COMMAND; see arguments_of() for RUN.
void add_submit(CLI::App& command, Run& run);
/// Likewise, with the commands under it.
void add_queue(CLI::App& queue, Run& run);

}  // namespace quarry::app
