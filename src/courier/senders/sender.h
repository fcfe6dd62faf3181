// How a destination of one type is reached. A way belongs to its destination's thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/event/event.h"
#include "quarry/spool/subscription.h"

namespace quarry::courier {

/// An event on its way.
struct OutgoingEvent {
  const spool::StreamedMessage& message;
  const event::Event& event;
};

/// What became of it.
struct DeliveryResult {
  spool::Outcome outcome = spool::Outcome::kDone;
  std::string why = {};  // but for kDone and kReturned
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
};

inline DeliveryResult retry_later(std::string why) {
  return {spool::Outcome::kRetry, std::move(why)};
}
inline DeliveryResult give_up(std::string why) {
  return {spool::Outcome::kGivenUp, std::move(why)};
}

/// Whether the courier cannot wait any longer; asked while something is delivered.
using Interrupted = std::function<bool()>;

class Sender {
 public:
  Sender() = default;
  virtual ~Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Delivers. kReturned: it was interrupted.
  virtual DeliveryResult deliver(const OutgoingEvent& outgoing) = 0;
  /// Called before what was delivered is settled: when this returns it is there for good.
  virtual base::Result<void> finish() { return {}; }
  /// Opens files anew that may have been moved away.
  virtual void reopen() {}
};

}  // namespace quarry::courier
