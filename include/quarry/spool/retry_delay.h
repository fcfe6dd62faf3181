// How long a message waits before it is tried again: longer after each try, up to a bound, and a
// little different each time, so that many that failed together do not come together again.
#pragma once

#include <chrono>
#include <cstdint>

#include "quarry/base/result.h"

namespace quarry::spool {

using std::chrono::milliseconds;

struct RetryDelay {
  milliseconds base{1000};      // after the first try; at least 1 ms
  double factor = 2;            // from one try to the next; at least 1
  milliseconds most{3600'000};  // at least `base`
  double jitter = 0.1;          // 0 to 1: up to this part of it is taken off

  /// The wait after the ATTEMPTS-th try (from 1 on). RANDOM, from 0 up to but not 1, says how much
  /// of the jitter is taken off. Never below 1 ms.
  milliseconds after(std::uint32_t attempts, double random) const;
  /// Errors: kInvalid, by the member's name.
  base::Result<void> check() const;
};

}  // namespace quarry::spool
