// Waits until a change set is finished, by polling, because the queue does not offer notifications.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/changes/queue_view.h"

namespace quarry::app {

/// Polls with LOOK until the change set is finished, at most for MAX_WAIT (0: no limit). Prints
/// changes of its stage on standard error if that is a terminal. Errors: permanent errors of LOOK;
/// kBusy after the time limit or a signal.
base::Result<changes::JobView> wait_until_over(
    const std::function<base::Result<changes::JobView>()>& look,
    std::chrono::milliseconds max_wait);

/// Prints the outcome; returns the exit code, 0 if it has landed.
int print_outcome(const changes::JobView& view);

}  // namespace quarry::app
