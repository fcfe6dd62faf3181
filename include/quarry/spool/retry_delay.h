// The delay before a message is retried: it grows with each attempt up to a limit, and has a random
// part so that messages that failed together are not retried together.
#pragma once

#include <chrono>
#include <cstdint>

#include "quarry/base/result.h"

namespace quarry::spool {

using std::chrono::milliseconds;

struct RetryDelay {
  milliseconds base{1000};      // after the first attempt; at least 1 ms
  double factor = 2;            // from one attempt to the next; at least 1
  milliseconds most{3600'000};  // at least `base`
  double jitter = 0.1;          // 0 to 1: fraction of the delay that may be subtracted

  /// The delay after attempt number ATTEMPTS (from 1 on). RANDOM, in [0, 1), selects how much of
  /// the jitter is subtracted. At least 1 ms.
  milliseconds after(std::uint32_t attempts, double random) const;
  /// Errors: kInvalid; the message names the member.
  base::Result<void> check() const;
};

}  // namespace quarry::spool
