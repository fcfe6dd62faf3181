// What the access log is told of a request: gathered while it is answered.
#pragma once

#include <sys/resource.h>

#include <string_view>

#include "quarry/scoreboard/scoreboard.h"
#include "quarry/worker/access_log.h"
#include "request.h"

namespace quarry::worker {

class RequestRecord {
 public:
  /// Begins with the request. LOG may be null: then nothing is gathered or written.
  RequestRecord(AccessLog* log, std::string_view pool);
  /// Writes the line. STATE is the slot's after the request.
  void write(const Request& request, const Reply& reply, const scoreboard::SlotState& state) const;

 private:
  AccessLog* log_;
  std::string_view pool_;
  rusage before_{};
};

}  // namespace quarry::worker
