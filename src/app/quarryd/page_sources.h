// Functions with which a pool's workers get the data on the operator's page that is not on the
// pool's scoreboard.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quarry/master/config.h"
#include "quarry/pages/server_view.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::app {

/// Returns the sources for POOL in CONFIG. REFUSALS are those of the processes in front of its
/// workers. OVERVIEW contains the shared figures of all pools and may be null. Other pools and the
/// courier are shown only if the pool has `status_all`.
pages::ServerSources page_sources(const master::Config& config, const master::PoolConfig& pool,
                                  std::shared_ptr<scoreboard::Overview> overview,
                                  scoreboard::RefusalTallies refusals);

/// Returns the part of TEXT, a destination's last error, that is our own wording: what was done and
/// how it failed. The part that the destination's program or server wrote is left out.
std::string own_words(std::string_view text);

}  // namespace quarry::app
