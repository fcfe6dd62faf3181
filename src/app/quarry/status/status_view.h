// The lines that `quarry status` and `quarry top` show. Safe for a terminal, whatever a client
// wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server_status.h"

namespace quarry::app {

using Lines = std::vector<std::string>;

/// What there is to say of the whole server, one line or more. NOW: seconds since 1970.
Lines server_lines(const ServerStatus& server, std::int64_t now);
/// A table of the pools.
Lines pool_lines(const ServerStatus& server, std::int64_t now);
/// A table of what runs on request, the backoffice of each pool; none where there is none.
Lines job_lines(const ServerStatus& server);
/// A table of who has web pages made; none where there is none.
Lines pages_lines(const ServerStatus& server);
/// A table of the children of a pool.
Lines child_lines(const PoolStatus& pool);

/// What `quarry top` puts first.
enum class Order { kRequests, kBytes, kActive, kName };

/// A look at the server, and when it was: seconds of a steady clock.
struct Look {
  ServerStatus server;
  double at = 0;
};

/// A table of the pools with what they did between two looks (BEFORE may be empty: nothing), and
/// one of the children that are at work, those first whose requests take longest. NOW as above.
Lines activity_lines(const std::optional<Look>& before, const Look& after, Order order,
                     std::int64_t now);

}  // namespace quarry::app
