// The lines that `quarry status` and `quarry top` show. Safe for a terminal, whatever a client
// wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "status_document.h"

namespace quarry::app {

using Lines = std::vector<std::string>;

/// What there is to say of the whole server, one line or more. NOW: seconds since 1970.
Lines server_lines(StatusObject server, std::int64_t now);
/// A table of the pools.
Lines pool_lines(StatusObject server, std::int64_t now);
/// A table of what runs on request, the backoffice of each pool; none where there is none.
Lines job_lines(StatusObject server);
/// A table of the services that make web pages; none where there is none.
Lines pages_lines(StatusObject server);
/// A table of the children of a pool.
Lines child_lines(StatusObject pool);

/// What `quarry top` puts first.
enum class Order { kRequests, kBytes, kActive, kName };

/// A look at the server, and when it was: seconds of a steady clock.
struct Look {
  StatusDocument server;
  double at = 0;
};

/// A table of the pools with what they did between two looks (BEFORE may be empty: nothing), and
/// one of the children that are at work, those first whose requests take longest. NOW as above.
Lines activity_lines(const std::optional<Look>& before, const Look& after, Order order,
                     std::int64_t now);

}  // namespace quarry::app
