// Whether a server that could not be reached is tried again, and when.
#pragma once

#include <chrono>

#include "quarry/base/result.h"

namespace quarry::transport {

/// How often to try where no server is, and how long to wait before: FIRST, then twice as long each
/// time, up to LONGEST; each by up to a quarter shorter, at random, so that clients that lost their
/// server together do not come back together.
struct RetryOptions {
  int tries = 1;
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds longest{60'000};
};

/// How long to wait before the try number TRY (from 1 on, the first after a failure). RANDOM: from
/// 0 to below 1.
std::chrono::milliseconds delay_before(int try_number, const RetryOptions& options, double random);

/// Whether the same may go well a little later: the server is not there, ended in the middle, or the
/// file is in use.
bool may_pass(const base::Error& error);

}  // namespace quarry::transport
