// queue.dequeuetimebegin and queue.dequeuetimeend: the hours of the day in which messages are
// delivered.
#pragma once

#include <chrono>
#include <ctime>
#include <functional>

#include "quarry/spool/options.h"

namespace quarry::spool {

/// Returns the local wall-clock time.
using LocalClock = std::function<std::tm()>;
std::tm local_time();

/// The time from LOCAL until messages are delivered; 0: now. Recompute it now and then, because the
/// clock may be changed meanwhile.
std::chrono::seconds until_window(const QueueOptions& options, const std::tm& local);

}  // namespace quarry::spool
