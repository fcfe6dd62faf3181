// Delivers events to a destination. Each type of destination has a class. Objects are used only in
// the thread of their destination.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/event/event.h"
#include "quarry/spool/subscription.h"

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

inline DeliveryResult retry_later(std::string why) {
  return {spool::Outcome::kRetry, std::move(why)};
}
inline DeliveryResult give_up(std::string why) {
  return {spool::Outcome::kGivenUp, std::move(why)};
}

/// Returns whether to abort the current delivery. Polled during a delivery.
using Interrupted = std::function<bool()>;

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
