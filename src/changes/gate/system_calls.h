// System calls that a gate may not use: those that allocate memory outside all limits, and those
// that builds do not need and that are known for kernel vulnerabilities.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::changes {

/// The seccomp filter, in a file for bwrap. Filtered calls, and all calls of other architectures,
/// fail with ENOSYS, as in a kernel that does not have them.
base::Result<base::Fd> gate_calls();

}  // namespace quarry::changes
