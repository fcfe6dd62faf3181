// Waiting for what becomes of a change set: asked again and again, since that is all that the queue
// offers, and told as a person reads it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/changes/queue_view.h"

namespace quarry::app {

/// Looks with LOOK until the change set is over, at most for so long (0: for ever). Says on standard
/// error where it is, where that changes and somebody looks. Errors: those of LOOK that do not pass
/// by themselves; kBusy: the time is over, or a signal came.
base::Result<changes::JobView> wait_until_over(
    const std::function<base::Result<changes::JobView>()>& look, std::chrono::milliseconds most);

/// Prints what became of it; returns the exit code: 0 where it landed.
int tell_outcome(const changes::JobView& view);

}  // namespace quarry::app
