// System calls that a gate must not use. Some of these calls allocate memory outside all limits.
// The other calls are known for kernel vulnerabilities, and builds do not need them.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::changes {

/// Returns the seccomp filter, in a file for bwrap. Filtered calls, and all calls of other
/// architectures, fail with ENOSYS, as if the kernel did not support them.
Result<base::Fd> gate_calls();

}  // namespace quarry::changes
