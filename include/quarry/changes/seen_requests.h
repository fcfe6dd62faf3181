// Records signed requests, so that an intercepted request cannot be replayed.
//
//   BASE/ctrl/seen/PERIOD/SIGNATURE   an empty file for each accepted request
//
// Time since 1970 is divided into periods of equal length, and PERIOD is the number of the period
// in which the request was signed. Only a few periods are kept, because requests with an older or a
// later date are rejected anyway (sync::SignedRequest). All workers share the folder. The worker
// that creates the file accepts the request.
#pragma once

#include <chrono>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"

namespace quarry::changes {

/// Records the request with SIGNATURE (hexadecimal digits) and DATE. Returns false if the request
/// was already recorded. MAX_SKEW is the maximum difference between the date of a request and the
/// clock. Passes on errors from file operations. After an error, the caller must reject the
/// request.
Result<bool> is_first_request(const Directories& directories, std::chrono::milliseconds max_skew,
                              std::string_view signature, base::UnixMillis date,
                              base::UnixMillis now);

}  // namespace quarry::changes
