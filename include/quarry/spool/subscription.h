// One reader of a stream (stream.h): its position, the earlier messages that are not settled, and
// its dead letters.
//
// Messages are taken in batches and settled one by one. Delivery is at least once: messages that
// are taken but not settled when the process ends are delivered again. If the process crashed, that
// counts as an attempt, so a message whose delivery crashes the process eventually becomes a dead
// letter. After a crash of the machine, recent settlements may be lost unless `sync_settlements` is
// set.
//
// While a destination is down, its messages take disk space but not memory: at most `window`
// messages are tracked individually; for the others, a position in the files is enough.
//
// Thread-safe. A call blocks only other calls on the same subscription.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/spool/message.h"

namespace quarry::spool {

using std::chrono::milliseconds;

/// The delay before a message is retried. It doubles with each attempt up to a limit. A random part
/// is subtracted so that messages that failed together are not retried together.
struct RetryDelay {
  milliseconds base{1000};     // after the first attempt; at least 1 ms
  milliseconds max{3600'000};  // at least `base`

  /// Returns the delay after attempt number ATTEMPTS, counted from 1; at least 1 ms. At most a
  /// tenth is subtracted; RANDOM, in [0, 1), determines how much.
  milliseconds after(std::uint32_t attempts, double random) const;
};

struct SubscriptionOptions {
  /// Whether a message that waits for a retry blocks later ones. In that case, only one batch is in
  /// flight at a time. Otherwise later messages may overtake it until the window is full.
  bool in_order = false;
  /// Whether settlements survive a crash of the machine. Otherwise they only survive a crash of the
  /// process.
  bool sync_settlements = false;
  /// Maximum number of messages that were taken and are not settled: 1 to kMaxWindow.
  std::size_t window = 1000;
  /// Number of attempts after which a message becomes a dead letter; 0: unlimited.
  std::uint32_t max_attempts = 0;
  RetryDelay retry = {};
};
inline constexpr std::size_t kMaxWindow = 65536;

/// A message as seen by a subscription or a listing.
struct StreamedMessage {
  /// The same after restarts and in the dead letters. Later messages have higher ids.
  std::uint64_t id = 0;
  /// Identifies the message in settle(). Equals the id, unless the message was replayed from the
  /// dead letters.
  std::uint64_t sequence = 0;
  base::UnixMillis taken_at = {};  // when it was appended to the stream
  std::uint32_t attempts = 0;      // number of attempts, including this one
  std::uint8_t severity = kInformational;
  std::string key = {};      // as passed to append(); "" if it has none
  std::string content = {};  // as passed to append()
  std::string error = {};    // for a dead letter: the last error
};

enum class Outcome : std::uint8_t {
  kDone,
  kRetry,     // failed: retry after a delay; after the last attempt, it becomes a dead letter
  kGivenUp,   // will never succeed: it becomes a dead letter
  kReturned,  // not attempted: deliver again immediately, without counting an attempt
};

/// The outcome for one message.
struct Settlement {
  std::uint64_t sequence = 0;
  Outcome outcome = Outcome::kDone;
  /// For kRetry and kGivenUp: the reason, as text for people. Only the first 256 bytes are kept.
  std::string error = {};
  /// For kRetry: a delay that replaces `retry` (such as one from Retry-After); at most a day.
  std::optional<milliseconds> delay = std::nullopt;
};

struct SubscriptionStatistics {
  std::string name;
  std::uint64_t waiting = 0;    // not settled, including those in flight and postponed
  std::uint64_t in_flight = 0;  // taken but not settled
  std::uint64_t postponed = 0;  // waiting for a retry
  std::optional<base::UnixMillis> oldest = {};  // time when the first waiting message was appended
  std::uint32_t head_attempts = 0;              // number of attempts for that message
  std::string last_error;                       // of the last retry or dead letter
  std::optional<base::UnixMillis> last_error_at;
  // Counted since the subscription was created:
  std::uint64_t delivered = 0;
  std::uint64_t given_up = 0;
  std::uint64_t dead = 0;        // messages that were given up and are still in the dead letters
  std::uint64_t unreadable = 0;  // messages lost because files were damaged
};

class Subscription {
 public:
  virtual ~Subscription() = default;

  virtual const std::string& name() const = 0;

  /// Takes up to MAX messages for delivery: first those due for a retry, then new ones. Returns an
  /// empty list if there is no message to deliver now, or if the window is full of postponed
  /// messages. Each message must be settled. Errors: file system errors.
  virtual base::Result<std::vector<StreamedMessage>> take(std::size_t max) = 0;

  /// Records the outcome of messages. Messages that are not in flight are ignored. Errors: file
  /// system errors. After kNoSpace, the settlements are valid in this process but may be lost when
  /// it ends; after other errors, none of them is valid.
  virtual base::Result<void> settle(std::span<const Settlement> settlements) = 0;

  /// Waits until take() would return messages, or until wake() is called, but at most MAX. Returns
  /// whether take() would return messages.
  virtual bool wait(milliseconds max) = 0;
  /// Ends the current wait(), or the next one if there is none.
  virtual void wake() = 0;

  virtual SubscriptionStatistics statistics() = 0;

  /// Appends the dead letters to the stream again, for this subscription only, and resets their
  /// attempts. Returns the number of dead letters. If the process is killed meanwhile, one of them
  /// may exist in both places.
  virtual base::Result<std::uint64_t> replay_dead() = 0;
  /// Deletes the dead letters. Returns the number of deleted dead letters.
  virtual base::Result<std::uint64_t> purge_dead() = 0;
};

}  // namespace quarry::spool
