// One reader of a stream (stream.h): its position, the messages before it that are not settled, and
// its dead letters.
//
// Messages are taken in batches and settled one by one. Delivery is at least once. Messages that
// are taken but not settled when the process ends are delivered again. If it crashed, that counts
// as an attempt, so that a message whose delivery kills the process becomes a dead letter in the
// end. After a crash of the machine, recent settlements may be lost unless `sync_settlements` is
// set.
//
// A destination that is down costs disk space, not memory: at most `window` messages are tracked
// one by one; for the others a position in the files is enough.
//
// Thread-safe. Calls only block other calls on the same subscription.
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

/// The delay before a message is retried. It doubles with each attempt up to a limit, and has a
/// random part so that messages that failed together are not retried together.
struct RetryDelay {
  milliseconds base{1000};     // after the first attempt; at least 1 ms
  milliseconds max{3600'000};  // at least `base`

  /// The delay after attempt number ATTEMPTS (from 1 on). RANDOM, in [0, 1), selects how much of
  /// the random tenth is subtracted. At least 1 ms.
  milliseconds after(std::uint32_t attempts, double random) const;
};

struct SubscriptionOptions {
  /// A message that waits for a retry holds back later ones, and only one batch is in flight at a
  /// time. Otherwise later ones may overtake it until the window is full.
  bool in_order = false;
  /// Settlements survive a crash of the machine. Otherwise they only survive a crash of the
  /// process.
  bool sync_settlements = false;
  /// Maximum number of messages that were taken and not settled: 1 to kMaxWindow.
  std::size_t window = 1000;
  /// Number of attempts after which a message becomes a dead letter; 0: unlimited.
  std::uint32_t max_attempts = 0;
  RetryDelay retry = {};
};
inline constexpr std::size_t kMaxWindow = 65536;

/// A message as seen by a subscription or a listing.
struct StreamedMessage {
  /// Does not change across restarts or in the dead letters. Later messages have higher ids.
  std::uint64_t id = 0;
  /// Identifies it in settle(); same as the id, unless the message was replayed from the dead
  /// letters.
  std::uint64_t sequence = 0;
  base::UnixMillis taken_at = {};  // when it was appended
  std::uint32_t attempts = 0;      // including this one
  std::uint8_t severity = kInformational;
  std::string key = {};      // as given to append(); "": none
  std::string content = {};  // as given to append()
  std::string error = {};    // for a dead letter: the last error
};

enum class Outcome : std::uint8_t {
  kDone,
  kRetry,     // failed: retry after a delay, or a dead letter after the last attempt
  kGivenUp,   // will never succeed: a dead letter
  kReturned,  // not attempted: deliver again immediately, without counting an attempt
};

/// The outcome for one message.
struct Settlement {
  std::uint64_t sequence = 0;
  Outcome outcome = Outcome::kDone;
  /// For kRetry and kGivenUp: the reason, for people. Only the first 256 bytes are kept.
  std::string error = {};
  /// For kRetry: a delay that overrides `retry` (e.g. Retry-After); at most a day.
  std::optional<milliseconds> delay = std::nullopt;
};

struct SubscriptionStatistics {
  std::string name;
  std::uint64_t waiting = 0;    // not settled, including those in flight and postponed
  std::uint64_t in_flight = 0;  // taken, and not settled
  std::uint64_t postponed = 0;  // wait for a retry
  std::optional<base::UnixMillis> oldest = {};  // append time of the first message that waits
  std::uint32_t head_attempts = 0;              // attempts for that message
  std::string last_error;                       // of the last retry or dead letter
  std::optional<base::UnixMillis> last_error_at;
  // Since the subscription was created.
  std::uint64_t delivered = 0;
  std::uint64_t given_up = 0;
  std::uint64_t dead = 0;        // of those given up, still in the dead letters
  std::uint64_t unreadable = 0;  // lost to damaged files
};

class Subscription {
 public:
  virtual ~Subscription() = default;

  virtual const std::string& name() const = 0;

  /// Takes up to MAX messages to deliver: those due for a retry, then new ones. Empty if there is
  /// nothing to deliver now, or the window is full of postponed messages. Each message must be
  /// settled. Errors: file system errors.
  virtual base::Result<std::vector<StreamedMessage>> take(std::size_t max) = 0;

  /// Records the outcome of messages. Messages that are not in flight are ignored. Errors: file
  /// system errors. With kNoSpace the settlements are valid in this process but may be lost when it
  /// ends; with other errors none of them is valid.
  virtual base::Result<void> settle(std::span<const Settlement> settlements) = 0;

  /// Waits until take() would return messages, for at most MAX, or until wake() is called. Returns
  /// whether take() would return messages.
  virtual bool wait(milliseconds max) = 0;
  /// Ends the current wait() or the next one.
  virtual void wake() = 0;

  virtual SubscriptionStatistics statistics() = 0;

  /// Appends the dead letters to the stream again, for this subscription only, with no attempts.
  /// Returns how many. If the process is killed meanwhile, one of them may exist in both places.
  virtual base::Result<std::uint64_t> replay_dead() = 0;
  /// Deletes the dead letters. Returns how many.
  virtual base::Result<std::uint64_t> purge_dead() = 0;
};

}  // namespace quarry::spool
