// Whether and when to retry after a server could not be reached.
#pragma once

#include <chrono>

#include "quarry/base/result.h"

namespace quarry::transport {

/// How often to retry, and how long to wait: FIRST, then twice as long each time, up to LONGEST.
/// Each delay is shortened by a random amount of up to a quarter, so that clients that lost their
/// server together do not reconnect together.
struct RetryOptions {
  int tries = 1;
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds longest{60'000};
};

/// The delay before retry TRY_NUMBER (from 1 on). RANDOM is in [0, 1).
std::chrono::milliseconds delay_before(int try_number, const RetryOptions& options, double random);

/// Whether ERROR is temporary: the server is unreachable, the connection broke, or the file is
/// busy.
bool may_pass(const base::Error& error);

}  // namespace quarry::transport
