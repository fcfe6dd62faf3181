// How a command of `quarry` ends: 0 done; 1 the operation failed, one line on standard error says
// why; 2 wrong usage.
#pragma once

#include "quarry/base/result.h"

namespace quarry::app {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

/// Says on standard error why a command failed, and returns kFailed.
int failed(const base::Error& error);

/// The exit code of a command that is DONE: kFailed also if its output cannot be written.
int exit_code_of(const base::Result<void>& done);

}  // namespace quarry::app
