// Where a pool's workers get the data for the operator's page that is not on the pool's scoreboard.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quarry/master/config.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::app {

/// The sources for POOL in CONFIG. REFUSALS: those of the processes in front of its workers.
/// OVERVIEW is null, or the shared figures of all pools: other pools and the courier are shown only
/// if the pool has `status_all`.
pages::ServerSources page_sources(const master::Config& config, const master::PoolConfig& pool,
                                  std::shared_ptr<scoreboard::Overview> overview,
                                  scoreboard::RefusalTallies refusals);

/// The part of TEXT, a destination's last error, that does not come from the program or server that
/// it was delivered to: what was done, and how it failed.
std::string own_words(std::string_view text);

}  // namespace quarry::app
