// Where a pool's workers get what the operator's page shows beside the pool's board.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quarry/master/config.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::app {

/// Of POOL in CONFIG, with REFUSALS, those of the processes before its workers. OVERVIEW, where not
/// null, the other pools and the courier are shown only where the pool may show all.
pages::ServerSources page_sources(const master::Config& config, const master::PoolConfig& pool,
                                  std::shared_ptr<scoreboard::Overview> overview,
                                  scoreboard::RefusalTallies refusals);

/// As much of TEXT, the last error of a destination, as was not written by a program or a server that
/// it was delivered to: what was done, and how it failed.
std::string own_words(std::string_view text);

}  // namespace quarry::app
