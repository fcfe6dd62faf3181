// The last deliveries of a destination, with the server's responses. The courier writes them, and
// `quarry courier deliveries` and `redeliver` read them.
//
//   SPOOL_DIRECTORY/deliveries/DESTINATION/ID.json    the last attempt to deliver the event ID
//
// The courier of a pool keeps those of the webhooks of repositories in the same way, without events.
// The files are not synced, because they are only for humans. The stream keeps the events. If a
// file cannot be written, the delivery is not recorded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::courier {

/// Number of events whose deliveries are kept, of a destination and of a pool's webhooks.
inline constexpr std::size_t kKeptDeliveries = 20;
inline constexpr std::size_t kKeptOfWebhooks = 200;
/// Maximum size of an event that is kept for redelivery.
inline constexpr std::size_t kMaxKeptEvent = std::size_t{1} << 20;

struct Delivery {
  std::uint64_t id = 0;  // number of the event in the stream
  std::uint64_t attempts = 0;
  std::string type = {};  // of the event
  /// Repository and name of a webhook that the repository contains, or "".
  std::string webhook = {};
  base::UnixMillis time = {};
  std::chrono::milliseconds duration{};
  long status = 0;            // of HTTP; 0: no response
  std::string error = {};     // "" if the event was delivered
  std::string response = {};  // the beginning of the response
  std::string event = {};     // JSON; "" if it is longer than kMaxKeptEvent
};

/// Returns the folder with the deliveries of the destination NAME in SPOOL, the courier's folder.
std::filesystem::path deliveries_folder(const std::filesystem::path& spool,
                                        const std::string& name);
/// Returns the deliveries in FOLDER, newest first. Errors: kDenied, kIo.
Result<std::vector<Delivery>> read_deliveries(const std::filesystem::path& folder);
/// Returns the delivery of the event ID. Errors: kNotFound, kDenied, kIo, kInvalid.
Result<Delivery> read_delivery(const std::filesystem::path& folder, std::uint64_t id);

/// Removes the deliveries in SPOOL, the courier's folder, of all destinations except NAMES.
void remove_deliveries_except(const std::filesystem::path& spool,
                              const std::vector<std::string>& names);

/// Writes the deliveries of a destination.
class DeliveryLog {
 public:
  DeliveryLog(std::filesystem::path folder, std::size_t max_kept)
      : folder_(std::move(folder)), max_kept_(max_kept) {}
  /// Records DELIVERY, in place of earlier attempts for the same event. Removes the oldest
  /// deliveries. Errors: kNoSpace, kDenied, kIo.
  Result<void> add(const Delivery& delivery);

 private:
  Result<void> open();

  std::filesystem::path folder_;
  std::size_t max_kept_;
  std::optional<std::deque<std::uint64_t>> ids_;  // of the kept deliveries, oldest first
};

}  // namespace quarry::courier
