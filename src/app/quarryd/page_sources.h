// Data for the live page (?live) that is not on the pool's scoreboard. The pool's workers call these
// functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "log_service.h"
#include "quarry/master/config.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::app {

/// Returns the sources for POOL in CONFIG. REFUSALS counts the requests that the HTTP front and the
/// pages process have refused. OVERVIEW contains the shared figures of all pools; it can be null.
/// Other pools and the courier are shown only if POOL has `status_all`.
pages::ServerSources page_sources(const master::Config& config, const master::PoolConfig& pool,
                                  std::shared_ptr<scoreboard::Overview> overview,
                                  scoreboard::RefusalTallies refusals, const LogDestinations& logs);

/// Returns the sources for the queues of all pools of CONFIG, for the courier, and for the destinations
/// of LOGS.
pages::ServerSources server_sources(const master::Config& config, const LogDestinations& logs);

/// Returns TEXT, the last error of a destination, without the part that the destination's program
/// or server has written.
std::string own_words(std::string_view text);

}  // namespace quarry::app
