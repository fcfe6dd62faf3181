#include "quarry/courier/waiting_events.h"

#include <algorithm>

#include "quarry/event/event.h"

namespace quarry::courier {
namespace {

/// Recounts the waiting events in FIGURES, the figures of DESTINATION.
Result<void> count_wanted(const spool::SpoolLocation& stream, const DestinationOptions& destination,
                          std::uint64_t max_filtered, const spool::Reporter& reporter,
                          spool::SubscriptionStatistics& figures) {
  if (figures.waiting == 0) return {};
  figures.waiting -= std::min(figures.waiting, max_filtered);
  figures.oldest.reset();
  std::uint64_t read = 0;
  const auto count = [&](const spool::StreamedMessage& message) {
    const auto event = event::parse(message.content);
    // Count an event that cannot be parsed, because it becomes a dead letter of each destination.
    if (!event || is_for(destination, *event)) {
      ++figures.waiting;
      if (!figures.oldest) figures.oldest = message.taken_at;
    }
    return ++read < max_filtered;
  };
  return spool::visit_stream(stream, figures.name, count, reporter);
}

}  // namespace

Result<spool::StreamStatus> status_of(const CourierConfig& config, std::uint64_t max_filtered,
                                      const spool::Reporter& reporter) {
  const spool::SpoolLocation stream{config.options.spool_directory, kStreamName};
  QUARRY_TRY_ASSIGN(auto status, spool::stream_status(stream));
  for (spool::SubscriptionStatistics& each : status.subscriptions) {
    const auto at = std::ranges::find(config.destinations, each.name, &DestinationOptions::name);
    if (at == config.destinations.end()) continue;
    const auto counted = count_wanted(stream, *at, max_filtered, reporter, each);
    // If its files are missing, the destination was just removed.
    if (!counted && counted.error().code != ErrorCode::kNotFound) {
      return std::unexpected(counted.error());
    }
  }
  return status;
}

Result<spool::StreamStatus> status_of_pool(const std::filesystem::path& folder) {
  QUARRY_TRY_ASSIGN(auto status, spool::stream_status({folder, kStreamName}));
  for (spool::SubscriptionStatistics& each : status.subscriptions) {
    if (each.name == kWebhooksName) each.dead = each.given_up;
  }
  return status;
}

}  // namespace quarry::courier
