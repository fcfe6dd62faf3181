// One destination of a stream (stream.h): how far it has come, what of that it has not settled yet,
// and what it has given up.
//
// Messages are taken in batches and settled one by one. Delivery is at least once: what was taken
// and not settled when the process ends comes again, with one more attempt if that ended by itself
// (a message whose delivery kills the process is given up in the end, like any other), and so does
// what was settled in the moment of a crash without `sync_settlements`.
//
// A destination that is away costs disk, not memory: of its messages no more than `window` are
// known one by one; all others are a position in the files.
//
// Safe from any thread. A call holds up only others on the same subscription.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/spool/message.h"
#include "quarry/spool/retry_delay.h"

namespace quarry::spool {

struct SubscriptionOptions {
  /// Of one that is not known yet: the messages that are in the stream already are for it, too.
  bool from_beginning = false;
  /// A message that is to come later holds back those behind it, and one batch at a time is taken.
  /// Without it they pass, until the window is full.
  bool in_order = false;
  /// A settlement survives that the machine stops. Without it, it survives that the process is
  /// killed.
  bool sync_settlements = false;
  /// Messages that were taken and are not settled, at most: 1 to kMaxWindow.
  std::size_t window = 1000;
  /// After so many tries a message that fails is given up; 0: never.
  std::uint32_t max_attempts = 0;
  RetryDelay retry;
};
inline constexpr std::size_t kMaxWindow = 65536;

/// A message as a subscription, or who lists a stream, sees it.
struct StreamedMessage {
  /// Stays the same from the append on, over restarts, and in the dead letters. Ascends in the
  /// order of appends.
  std::uint64_t id = 0;
  /// What it is settled by; the id, but for a message that came back from the dead letters.
  std::uint64_t sequence = 0;
  base::UnixMillis taken_at;   // by the stream
  std::uint32_t attempts = 0;  // with this one
  std::uint8_t severity = kInformational;
  std::string key;      // as it was given; "": none
  std::string content;  // as it was given
  std::string error;    // of a dead letter: why it was given up
};

enum class Outcome : std::uint8_t {
  kDone,
  kRetry,     // it failed: again after a delay, or given up after the last try
  kGivenUp,   // it will never succeed: into the dead letters
  kReturned,  // it was not tried: comes again at once, and this did not count
};

/// What became of a message that was taken.
struct Settlement {
  std::uint64_t sequence = 0;
  Outcome outcome = Outcome::kDone;
  /// Of kRetry and kGivenUp: why, for a person. The first 256 bytes are kept.
  std::string error = {};
  /// Of kRetry: how long to wait, rather than what `retry` says (Retry-After); a day at most.
  std::optional<milliseconds> delay = std::nullopt;
};

struct SubscriptionStatistics {
  std::string name;
  std::uint64_t waiting = 0;    // not settled, with those in hand and those postponed
  std::uint64_t in_flight = 0;  // taken, and not settled
  std::uint64_t postponed = 0;  // come later
  std::optional<base::UnixMillis> oldest = {};  // when the stream took the first that waits
  std::uint32_t head_attempts = 0;              // of that one
  std::string last_error;                       // of the last that came later or was given up
  std::optional<base::UnixMillis> last_error_at;
  // Since the subscription was made.
  std::uint64_t delivered = 0;
  std::uint64_t given_up = 0;
  std::uint64_t dead = 0;        // of those, still among the dead letters
  std::uint64_t unreadable = 0;  // lost to damaged files
  bool is_paused = false;
};

class SubscriptionCore;
class Subscription {
 public:
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  const std::string& name() const;

  /// Messages to deliver now, MOST at most: those whose delay is over, then new ones. None: there is
  /// nothing now, it is paused, or the window is full of what comes later. Each is to be settled.
  /// Errors: what the disk says.
  base::Result<std::vector<StreamedMessage>> take(std::size_t max);

  /// Notes what became of messages. One that is not in hand (any more: it was purged, say) is passed
  /// over. Errors: what the disk says; with kNoSpace the settlements count in this process, and may
  /// be forgotten with it; with others none of them counts.
  base::Result<void> settle(std::span<const Settlement> settlements);

  /// Waits until take() would give something, for MOST at most, or until wake() is called. Whether
  /// it would.
  bool wait(milliseconds max);
  /// Ends a wait(), the present or the next one.
  void wake();

  /// Nothing is given out until resume(), also after a restart. What is in hand may be settled.
  base::Result<void> pause();
  base::Result<void> resume();
  /// Forgets everything that is waiting now, also what is in hand. Returns how many messages.
  base::Result<std::uint64_t> purge();

  SubscriptionStatistics statistics();

  /// Shows VISITOR the messages that were given up, the oldest first, until it returns false.
  base::Result<void> visit_dead(const std::function<bool(const StreamedMessage&)>& visitor);
  /// Appends the messages that were given up to the stream again, for this subscription alone, with
  /// no attempts. Returns how many. One that is killed may leave one of them in both places.
  base::Result<std::uint64_t> replay_dead();
  /// Forgets those that were given up. Returns how many.
  base::Result<std::uint64_t> purge_dead();

  /// By the stream.
  explicit Subscription(std::unique_ptr<SubscriptionCore> core);

 private:
  friend class StreamCore;
  std::unique_ptr<SubscriptionCore> core_;
};

}  // namespace quarry::spool
