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
struct Letter {
  const spool::StreamedMessage& message;
  const event::Event& event;
};

/// What became of it.
struct Delivered {
  spool::Outcome outcome = spool::Outcome::kDone;
  std::string why = {};  // but for kDone and kReturned
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
};

inline Delivered later(std::string why) {
  return {spool::Outcome::kLater, std::move(why)};
}
inline Delivered given_up(std::string why) {
  return {spool::Outcome::kGivenUp, std::move(why)};
}

/// Whether the courier cannot wait any longer; asked while something is delivered.
using Interrupted = std::function<bool()>;

class Way {
 public:
  Way() = default;
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  /// Delivers. kReturned: it was interrupted.
  virtual Delivered deliver(const Letter& letter) = 0;
  /// Called before what was delivered is settled: when this returns it is there for good.
  virtual base::Result<void> finish() { return {}; }
  /// Opens files anew that may have been moved away.
  virtual void reopen() {}
};

}  // namespace quarry::courier
