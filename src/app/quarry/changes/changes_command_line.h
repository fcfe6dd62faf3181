// The words of `quarry submit` and `quarry queue`.
#pragma once

#include "common/command_line.h"

namespace quarry::app {

void add_submit(CLI::App& app, Run& run);
void add_queue(CLI::App& app, Run& run);

}  // namespace quarry::app
