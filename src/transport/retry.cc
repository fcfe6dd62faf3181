#include "quarry/transport/retry.h"

#include <algorithm>
#include <cstdint>

namespace quarry::transport {

using base::ErrorCode;

std::chrono::milliseconds delay_before(int try_number, const RetryOptions& options, double random) {
  auto delay = options.first;
  for (int i = 1; i < try_number && delay < options.longest; ++i) delay *= 2;
  delay = std::min(delay, options.longest);
  return delay - std::chrono::milliseconds(
                     static_cast<std::int64_t>(static_cast<double>(delay.count()) * random / 4));
}

bool may_pass(const base::Error& error) {
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kBusy;
}

}  // namespace quarry::transport
