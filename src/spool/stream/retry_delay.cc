#include "quarry/spool/retry_delay.h"

#include <algorithm>
#include <cmath>

namespace quarry::spool {

using base::ErrorCode;
using base::fail;

milliseconds RetryDelay::after(std::uint32_t attempts, double random) const {
  const double growth = std::pow(factor, attempts > 0 ? attempts - 1 : 0);
  // May be infinite after many attempts; the limit applies then, too.
  const double full =
      std::min(static_cast<double>(base.count()) * growth, static_cast<double>(most.count()));
  const double time = full * (1 - jitter * random);
  return std::max(milliseconds(1), milliseconds(std::llround(time)));
}

base::Result<void> RetryDelay::check() const {
  if (base < milliseconds(1)) return fail(ErrorCode::kInvalid, "base: must be at least 1 ms");
  if (most < base) return fail(ErrorCode::kInvalid, "most: must not be less than base");
  // Also rejects NaN.
  if (!(factor >= 1) || std::isinf(factor)) {
    return fail(ErrorCode::kInvalid, "factor: must be at least 1");
  }
  if (!(jitter >= 0 && jitter <= 1)) return fail(ErrorCode::kInvalid, "jitter: must be 0 to 1");
  return {};
}

}  // namespace quarry::spool
