// Where a pool's workers get what the operator's page shows beside the pool's board.
#pragma once

#include <memory>
#include <optional>

#include "quarry/changes/options.h"
#include "quarry/courier/courier_config.h"
#include "quarry/master/config.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::app {

/// Of POOL, with the queues that CHANGES says. OVERVIEW, where not null, and COURIER are shown only
/// where the pool may show all.
pages::ServerSources page_sources(const master::PoolConfig& pool,
                                  const changes::PoolOptions& changes,
                                  std::shared_ptr<scoreboard::Overview> overview,
                                  const std::optional<courier::CourierConfig>& courier);

/// As much of TEXT, the last error of a destination, as was not written by a program or a server that
/// it was delivered to: what was done, and how it failed.
std::string own_words(std::string_view text);

}  // namespace quarry::app
