// One reader of a stream (stream.h): its position, earlier messages that are not settled, and its
// dead letters.
//
// Messages are taken in batches and settled one by one. Delivery is at least once: messages that
// are not settled when the process exits are delivered again. A crash of the process counts as an
// attempt, so a message whose delivery crashes the process eventually becomes a dead letter. A
// crash of the machine can undo recent settlements unless `sync_settlements` is set.
//
// While a destination is down, its messages take disk space but not memory. At most `window`
// messages are tracked individually. For all later messages, one position in the files is enough.
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

/// The delay before a message is retried. The delay doubles with each attempt up to a limit. A
/// random part is subtracted, so that messages that failed together are not retried together.
struct RetryDelay {
  milliseconds base{1000};     // delay after the first attempt; at least 1 ms
  milliseconds max{3600'000};  // at least `base`

  /// Returns the delay after attempt number ATTEMPTS, counted from 1; at least 1 ms. RANDOM, in [0,
  /// 1), determines the subtracted part, which is at most a tenth.
  milliseconds after(std::uint32_t attempts, double random) const;
};

struct SubscriptionOptions {
  /// Whether a message that waits for a retry blocks later messages. If set, only one batch at a
  /// time is in flight. If false, later messages can overtake the waiting message until the window
  /// is full.
  bool in_order = false;
  /// Whether settlements survive a crash of the machine. If false, settlements survive only a crash
  /// of the process.
  bool sync_settlements = false;
  /// Maximum number of taken messages that are not settled: 1 to kMaxWindow.
  std::size_t window = 1000;
  /// Number of attempts after which a message becomes a dead letter; 0: unlimited.
  std::uint32_t max_attempts = 0;
  RetryDelay retry = {};
  /// Whether messages that are given up are kept as dead letters. Otherwise, they are only counted.
  bool keeps_dead_letters = true;
};
inline constexpr std::size_t kMaxWindow = 65536;

/// A message as seen by a subscription or a listing.
struct StreamedMessage {
  /// Stays the same after restarts and in the dead letters. Later messages have higher ids.
  std::uint64_t id = 0;
  /// Identifies the message in settle(). Equal to the id, unless the message was replayed from the
  /// dead letters.
  std::uint64_t sequence = 0;
  base::UnixMillis taken_at = {};  // time when the message was appended to the stream
  std::uint32_t attempts = 0;      // number of attempts, including this one
  std::uint8_t severity = kInformational;
  std::string key = {};      // from NewMessage
  std::string content = {};  // from NewMessage
  std::string error = {};    // for a dead letter: the last error
};

enum class Outcome : std::uint8_t {
  kDone,
  kRetry,     // failed: retry after a delay; after the last attempt: becomes a dead letter
  kGivenUp,   // will never succeed: becomes a dead letter, if dead letters are kept
  kReturned,  // not attempted: deliver again immediately; not counted as an attempt
  kSkipped,   // not meant for this subscription: settled, but not counted as delivered
};

/// The outcome for one message.
struct Settlement {
  std::uint64_t sequence = 0;
  Outcome outcome = Outcome::kDone;
  /// For kRetry and kGivenUp: the reason, as readable text. Truncated to 256 bytes.
  std::string error = {};
  /// For kRetry: a delay that replaces `retry` (such as the value of Retry-After); at most a day.
  std::optional<milliseconds> delay = std::nullopt;
};

struct SubscriptionStatistics {
  std::string name;
  std::uint64_t waiting = 0;    // not settled; includes in-flight and postponed messages
  std::uint64_t in_flight = 0;  // taken, but not settled
  std::uint64_t postponed = 0;  // waiting for a retry
  std::optional<base::UnixMillis> oldest = {};  // time when the first waiting message was appended
  std::uint32_t head_attempts = 0;              // number of attempts for the first waiting message
  std::string last_error;                       // error of the last retry or dead letter
  std::optional<base::UnixMillis> last_error_at;
  // Counted since the subscription was created:
  std::uint64_t delivered = 0;
  std::uint64_t given_up = 0;
  std::uint64_t dead = 0;        // current number of dead letters
  std::uint64_t unreadable = 0;  // messages lost because of damaged files
};

class Subscription {
 public:
  virtual ~Subscription() = default;

  virtual const std::string& name() const = 0;

  /// Takes up to MAX messages for delivery: first the messages that are due for a retry, then new
  /// messages. Returns an empty list if no message is due, or if the window is full of postponed
  /// messages. The caller has to settle each message. Errors: file system errors.
  virtual Result<std::vector<StreamedMessage>> take(std::size_t max) = 0;

  /// Records the outcome of messages. Messages that are not in flight are ignored. Errors: file
  /// system errors. After kNoSpace, the settlements are valid, but might be lost when the process
  /// ends. After other errors, the settlements have no effect.
  virtual Result<void> settle(std::span<const Settlement> settlements) = 0;

  /// Waits until messages are due or wake() is called, at most for MAX. Returns whether take()
  /// would return messages.
  virtual bool wait(milliseconds max) = 0;
  /// Ends the current wait(). If no thread is waiting, ends the next wait().
  virtual void wake() = 0;

  virtual SubscriptionStatistics statistics() = 0;

  /// Appends the dead letters to the stream again, for this subscription only, and resets their
  /// attempts. Returns the number of dead letters. If the process is killed during the call, one
  /// message might be both in the stream and in the dead letters.
  virtual Result<std::uint64_t> replay_dead() = 0;
  /// Deletes the dead letters. Returns their number.
  virtual Result<std::uint64_t> purge_dead() = 0;
};

}  // namespace quarry::spool
