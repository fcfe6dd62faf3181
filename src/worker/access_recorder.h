// Collects the access log's record of each request while it is answered.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string_view>

#include "fastcgi/request.h"
#include "quarry/base/access_log.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::worker {

class AccessRecorder {
 public:
  /// If LOG is null, nothing is collected or written. Both must outlive it.
  AccessRecorder(base::AccessLog* log, std::string_view pool);
  /// Call when a request begins.
  void begin();
  /// Writes the record of an answered request. STATE is the slot's state after the request.
  void end(const Request& request, const Reply& reply, const scoreboard::SlotState& state);

 private:
  void add_usage(base::AccessRecord& record) const;

  base::AccessLog* log_;
  std::string_view pool_;
  pid_t parent_;
  rusage before_{};
};

}  // namespace quarry::worker
