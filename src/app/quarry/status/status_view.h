// The lines that `quarry status` and `quarry top` print. Strings from clients are made safe for a
// terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "status_document.h"

namespace quarry::app {

using Lines = std::vector<std::string>;

/// One or more lines about the server. NOW: seconds since 1970.
Lines server_lines(StatusObject server, std::int64_t now);
/// A table of the pools.
Lines pool_lines(StatusObject server, std::int64_t now);
/// A table of the services that run on request, such as the backoffice of each pool; empty if there
/// are none.
Lines job_lines(StatusObject server);
/// A table of the services that make web pages; empty if there are none.
Lines pages_lines(StatusObject server);
/// A table of a pool's children.
Lines child_lines(StatusObject pool);

/// The sort order of `quarry top`.
enum class Order { kRequests, kBytes, kActive, kName };

/// A status of the server, and when it was read, in seconds of a steady clock.
struct StatusSample {
  StatusDocument server;
  double at = 0;
};

/// A table of the pools with their rates between two samples (0 without BEFORE), and one of the
/// busy children, those with the longest requests first. NOW as above.
Lines activity_lines(const std::optional<StatusSample>& before, const StatusSample& after,
                     Order order, std::int64_t now);

}  // namespace quarry::app
