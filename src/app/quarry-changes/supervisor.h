// A daemon serves the queues that there are when it starts. Over a folder, where they come and go, it
// is a child of this process, which looks whether they are others by now, and starts it anew then.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "queues.h"

namespace quarry::app {

/// Runs SERVE, in a child, with what LIST gives, until this process is told to end by SIGTERM, SIGINT
/// or SIGQUIT (blocked by the caller), which the child gets as SIGTERM. Returns the exit code: that
/// of a child that ended by itself.
int supervise(const std::function<std::vector<ServedQueue>()>& list,
              const std::function<int(const std::vector<ServedQueue>&)>& serve,
              std::chrono::milliseconds look);

}  // namespace quarry::app
