// The status line for the service manager (sd_notify(3)). The line begins like PHP-FPM's line,
// because some tools parse that line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "pool/master_state.h"
#include "running_service.h"

namespace quarry::master {

class StatusLine {
 public:
  /// Returns the totals of all pools. Includes the requests per second since the last line.
  std::string next(const RunningServices& services, const MasterState& master_state);

 private:
  std::optional<std::chrono::steady_clock::time_point> last_at_;
  std::uint64_t last_requests_ = 0;
};

}  // namespace quarry::master
