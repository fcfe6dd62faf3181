// The words of `quarry peer`.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

/// Adds them to PEER; see arguments_of() for RUN.
void add_peer(CLI::App& peer, Run& run);

}  // namespace quarry::app
