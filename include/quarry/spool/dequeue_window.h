// queue.dequeuetimebegin and queue.dequeuetimeend: the hours of the day in which messages are
// delivered.
#pragma once

#include <chrono>
#include <ctime>
#include <functional>

#include "quarry/spool/options.h"

namespace quarry::spool {

/// What a clock on the wall shows.
using LocalClock = std::function<std::tm()>;
std::tm local_time();

/// How long it takes from LOCAL until messages are delivered; 0: they are. As the clock goes: one
/// that is put forward or back meanwhile makes it wrong, so look again now and then.
std::chrono::seconds until_window(const QueueOptions& options, const std::tm& local);

}  // namespace quarry::spool
