// Exit codes of the `quarry` commands. 0: success. 1: failure, with one line on standard error. 2:
// wrong usage.
#pragma once

#include "quarry/base/result.h"

namespace quarry::app {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

/// Prints ERROR on standard error and returns kFailed.
int failed(const Error& error);

/// Returns the exit code for DONE. Returns kFailed if writing to standard output has failed.
int exit_code_of(const Result<void>& done);
inline int exit_code_of(int code) {
  return code;
}

}  // namespace quarry::app
