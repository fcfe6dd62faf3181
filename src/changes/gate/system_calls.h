// The system calls that a gate has not: those that keep memory which no limit counts, and those that
// no build needs and through which kernels were broken into.
#pragma once

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::changes {

/// The filter, as bwrap reads it from a file: they fail with ENOSYS, as in an old kernel, and so do all
/// calls of another architecture than this one.
base::Result<base::Fd> gate_calls();

}  // namespace quarry::changes
