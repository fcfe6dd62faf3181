// Delivers events to a destination. Each type of destination has a class. Objects are used only in
// the thread of their destination.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/courier/deliveries.h"
#include "quarry/event/event.h"
#include "quarry/spool/subscription.h"
#include "transfer/transfer.h"

namespace quarry::courier {

struct OutgoingEvent {
  const spool::StreamedMessage& message;
  const event::Event& event;
};

struct DeliveryResult {
  spool::Outcome outcome = spool::Outcome::kDone;
  std::string why = {};  // set for kRetry and kGivenUp
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
  long status = 0;            // of HTTP; 0: no response
  std::string response = {};  // the beginning of the response
};

/// Returns the record of a delivery of MESSAGE that began at BEGIN and has just ended.
Delivery record_of(const spool::StreamedMessage& message, std::string_view type,
                   const DeliveryResult& result, std::chrono::steady_clock::time_point begin);

inline DeliveryResult retry_later(std::string why) {
  return {spool::Outcome::kRetry, std::move(why)};
}
inline DeliveryResult give_up(std::string why) {
  return {spool::Outcome::kGivenUp, std::move(why)};
}

class Sender {
 public:
  Sender() = default;
  virtual ~Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Delivers the event. The outcome of an interrupted delivery is kReturned.
  virtual DeliveryResult deliver(const OutgoingEvent& outgoing) = 0;
  /// Makes the deliveries durable. Called before the events are settled.
  virtual Result<void> finish() { return {}; }
  /// Reopens files, for log rotation.
  virtual void reopen() {}
};

}  // namespace quarry::courier
