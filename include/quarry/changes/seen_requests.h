// Records signed requests, so that an intercepted request cannot be replayed.
//
//   BASE/ctrl/seen/PERIOD/SIGNATURE   an empty file; PERIOD is the number of the period that
//                                     contains the date, counted from 1970
//
// Requests with a date that differs too much from the clock are rejected anyway
// (sync::SignedRequest), so only a few periods are kept. All workers share the folder. The worker
// that creates the file accepts the request.
#pragma once

#include <chrono>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"

namespace quarry::changes {

/// Returns whether the request with SIGNATURE (hexadecimal digits) and DATE has not been recorded
/// before, and records it. MAX_SKEW is the maximum difference between the date of a request and the
/// clock. Passes on errors from file operations. After an error, the caller must reject the
/// request.
base::Result<bool> is_first_request(const Directories& directories,
                                    std::chrono::milliseconds max_skew, std::string_view signature,
                                    base::UnixMillis date, base::UnixMillis now);

}  // namespace quarry::changes
