// Requests that were taken, so that none of them is taken a second time by who has listened to it.
//
//   BASE/ctrl/seen/PERIOD/SIGNATURE   an empty file; PERIOD: of the request's date, counted from 1970
//
// A request whose date is too far off is refused anyway (sync::SignedRequest), so that what is kept
// are a few periods. Workers share the folder; whoever makes the file first has the request.
#pragma once

#include <chrono>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"

namespace quarry::changes {

class SeenRequests {
 public:
  /// MOST_SKEW: how far a date may be off.
  SeenRequests(const Directories& directories, std::chrono::milliseconds most_skew)
      : directories_(directories), most_skew_(most_skew) {}

  /// Whether the request with SIGNATURE (hex digits), of DATE, comes for the first time. Errors:
  /// those of files, and then it must not be taken.
  base::Result<bool> is_first(std::string_view signature, base::UnixMillis date,
                              base::UnixMillis now);

 private:
  void forget_before(std::int64_t period);

  const Directories& directories_;
  std::chrono::milliseconds most_skew_;
};

}  // namespace quarry::changes
