// Decides whether and when to retry after a temporary failure of a server.
#pragma once

#include <algorithm>
#include <chrono>

#include "quarry/base/result.h"

namespace quarry::transport {

/// The number of attempts, and the delays between them. The first delay is FIRST; each further
/// delay is twice as long, up to LONGEST. Each delay is shortened by a random amount of up to a
/// quarter, because otherwise all clients of a failed server would reconnect at the same time.
struct RetryOptions {
  int tries = 1;
  std::chrono::milliseconds first{1'000};
  std::chrono::milliseconds longest{60'000};
};

/// Returns the delay before retry TRY_NUMBER (counted from 1). RANDOM is in [0, 1).
inline std::chrono::milliseconds delay_before(int try_number, const RetryOptions& options,
                                              double random) {
  auto delay = options.first;
  for (int i = 1; i < try_number && delay < options.longest; ++i) delay *= 2;
  delay = std::min(delay, options.longest);
  return delay - std::chrono::duration_cast<std::chrono::milliseconds>(delay * (random / 4));
}

/// Returns whether ERROR is temporary: the server is unreachable, the connection broke, or the file
/// is busy.
inline bool may_pass(const Error& error) {
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kBusy;
}

}  // namespace quarry::transport
