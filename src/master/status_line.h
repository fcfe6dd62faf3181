// What the service manager hears of how the server is (sd_notify(3)): begins as PHP-FPM's does, for
// whoever reads that.
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
  /// Of all pools together, with the requests a second since the last such line.
  std::string next(const RunningServices& services, const MasterState& master_state);

 private:
  std::optional<std::chrono::steady_clock::time_point> last_at_;
  std::uint64_t last_requests_ = 0;
};

}  // namespace quarry::master
