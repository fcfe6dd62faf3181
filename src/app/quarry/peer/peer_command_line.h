// The command line of `quarry peer`.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

/// Adds the subcommands to PEER. Sets RUN as described at arguments_of().
void add_peer(CLI::App& peer, Run& run);

}  // namespace quarry::app
