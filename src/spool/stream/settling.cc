// Settles messages. Adds an event for each message to the journal, and stores a dead letter for
// each message that is given up. The dead letter is on disk before the message is removed from the
// subscription.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "envelope.h"
#include "subscription_core.h"

namespace quarry::spool {

namespace {

constexpr milliseconds kMaxDelay = std::chrono::hours(24);
// The fraction of a delay that is random.
constexpr double kJitter = 0.1;

/// Returns ERROR, truncated to its maximum length. Characters are not split.
std::string shortened(std::string_view error) {
  std::size_t end = std::min(error.size(), kMaxError);
  const auto continues = [&] {
    return end < error.size() && (static_cast<unsigned char>(error[end]) & 0xc0) == 0x80;
  };
  while (end > 0 && continues()) --end;
  return std::string(error.substr(0, end));
}

}  // namespace

milliseconds RetryDelay::after(std::uint32_t attempts, double random) const {
  // After many attempts, the growth can be infinite. The delay is then the maximum.
  const double growth = std::pow(2.0, attempts > 0 ? attempts - 1 : 0);
  const double full =
      std::min(static_cast<double>(base.count()) * growth, static_cast<double>(max.count()));
  return std::max(milliseconds(1), milliseconds(std::llround(full * (1 - kJitter * random))));
}

/// One call of settle(), with the subscription's mutex locked.
class SubscriptionCore::SettleCall {
 public:
  explicit SettleCall(SubscriptionCore& core) : core_(core) {}

  Result<void> add(const Settlement& settlement) {
    const std::uint64_t sequence = settlement.sequence;
    if (!core_.state_.is_in_flight(sequence) || !settled_.insert(sequence).second) return {};
    const std::uint32_t attempts = core_.state_.open().at(sequence).attempts;
    const std::uint32_t max = core_.options_.max_attempts;
    switch (settlement.outcome) {
      case Outcome::kDone:
        events_.emplace_back(Done{sequence});
        return {};
      case Outcome::kReturned:
        events_.emplace_back(Returned{sequence});
        return {};
      case Outcome::kSkipped:
        events_.emplace_back(Skipped{sequence});
        return {};
      case Outcome::kGivenUp:
        return give_up(settlement, attempts);
      case Outcome::kRetry:
        if (max > 0 && attempts >= max) return give_up(settlement, attempts);
        postpone(settlement, attempts);
    }
    return {};
  }

  Result<void> finish() {
    if (core_.options_.in_order && has_postponed_) return_others();
    if (!letters_.empty()) QUARRY_TRY(core_.setup_.dead->put(letters_));
    return core_.commit(events_, core_.options_.sync_settlements);
  }

 private:
  void postpone(const Settlement& settlement, std::uint32_t attempts) {
    const milliseconds delay =
        settlement.delay ? std::clamp(*settlement.delay, milliseconds(1), kMaxDelay)
                         : core_.options_.retry.after(attempts, core_.setup_.environment.random());
    const std::int64_t now = core_.now();
    events_.emplace_back(Postponed{.sequence = settlement.sequence,
                                   .due = now + delay.count(),
                                   .delay = delay.count(),
                                   .time = now,
                                   .error = shortened(settlement.error)});
    has_postponed_ = true;
  }

  Result<void> give_up(const Settlement& settlement, std::uint32_t attempts) {
    QUARRY_TRY_ASSIGN(auto message, core_.find(settlement.sequence));
    if (!message) {
      events_.emplace_back(Lost{settlement.sequence});
      return {};
    }
    message->attempts = attempts;
    message->error = shortened(settlement.error);
    events_.emplace_back(
        GivenUp{.sequence = settlement.sequence, .time = core_.now(), .error = message->error});
    if (core_.options_.keeps_dead_letters) letters_.push_back(std::move(*message));
    return {};
  }

  /// Returns the remaining in-flight messages to the subscription, so that they are not delivered
  /// before the message that has to be retried.
  void return_others() {
    for (const auto& [sequence, message] : core_.state_.open()) {
      if (message.is_in_flight && !settled_.contains(sequence))
        events_.emplace_back(Returned{sequence});
    }
  }

  SubscriptionCore& core_;
  std::set<std::uint64_t> settled_;
  std::vector<Event> events_;
  std::vector<StreamedMessage> letters_;
  bool has_postponed_ = false;
};

Result<void> SubscriptionCore::settle(std::span<const Settlement> settlements) {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  SettleCall settling(*this);
  for (const Settlement& one : settlements) QUARRY_TRY(settling.add(one));
  const auto settled = settling.finish();
  publish_floor();
  changed_.notify();
  return settled;
}

}  // namespace quarry::spool
