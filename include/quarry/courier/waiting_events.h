// The numbers of events that wait for the destinations, for commands, pages and metrics.
#pragma once

#include <cstdint>
#include <filesystem>

#include "quarry/base/result.h"
#include "quarry/courier/options.h"
#include "quarry/spool/stream.h"

namespace quarry::courier {

/// Returns the status of the courier's stream. The waiting events of a destination in CONFIG include
/// only the events that the destination is configured to get, because the courier skips all others.
/// They include all events of a removed destination, whose filters are unknown, and all events
/// after the first MAX_FILTERED events, which limits the time of this function. REPORTER and errors:
/// see spool::visit_stream().
Result<spool::StreamStatus> status_of(const CourierConfig& config, std::uint64_t max_filtered,
                                      const spool::Reporter& reporter);

/// Returns the status of the stream in FOLDER, with the hooks of a pool and the webhooks of its
/// repositories. The number of dead letters of the webhooks is the number of dropped pushes.
Result<spool::StreamStatus> status_of_pool(const std::filesystem::path& folder);

}  // namespace quarry::courier
