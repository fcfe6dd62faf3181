// A durable list of messages with several readers: each message is on disk once, and each reader
// has its own position (subscription.h). One process holds a stream.
//
//   NAME.stream               marks a stream, as opposed to a queue
//   NAME.00000001, …          segments, in the format of a queue's (src/spool/segments/
//                             segment_format.h), of envelopes (src/spool/stream/envelope.h)
//   NAME.SUB.00000001, …      the journal of subscription SUB (src/spool/stream/journal.h)
//   NAME.SUB.dead.…           the dead letters of SUB: a stream of their own
//   NAME.write.lock, NAME.read.lock
//
// Messages have the ids 1, 2, 3, …, across restarts. A segment is deleted when all subscriptions
// have settled everything up to its end; the last one is kept, because it holds the next id.
// Without a subscription nothing is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/spool/message.h"
#include "quarry/spool/queue.h"
#include "quarry/spool/spool.h"
#include "quarry/spool/subscription.h"

namespace quarry::spool {

struct StreamOptions {
  /// The directory is created if needed; the name must not contain a dot or a slash.
  SpoolLocation location;
  /// Bytes of a segment, the unit in which space is freed; its last message may exceed this.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// Bytes of all segments; 0: no limit. Journals and dead letters do not count.
  std::uint64_t max_disk_space = 0;
  /// Appended messages survive a crash of the machine.
  bool sync = true;
};

/// The environment of a stream; replaced in tests. Not owned; must outlive the stream.
struct StreamEnvironment {
  base::FileSystem& files = base::FileSystem::real();
  const base::Clock& clock = base::system_clock();
  /// Returns a number in [0, 1) for the jitter of delays; called in any thread. Empty: a default.
  std::function<double()> random = {};
};

/// Bytes of a key.
inline constexpr std::size_t kMaxKey = 255;

/// A message to append.
struct NewMessage {
  std::string content;
  /// Lets a consumer recognize duplicates, which occur when an acknowledgement is lost. Opaque to
  /// the stream. At most kMaxKey bytes.
  std::string key = {};
  std::uint8_t severity = kInformational;
};
/// Bytes of a message's content.
inline constexpr std::size_t kMaxStreamContent = kMaxContent - 4096;
/// Errors: kLimit (no stream accepts MESSAGE).
base::Result<void> check(const NewMessage& message);

class Stream {
 public:
  /// Opens or creates the stream. Existing subscriptions keep holding their messages, even if
  /// nobody calls subscribe() for them. Errors: kInvalid (OPTIONS), kBusy (another process has it),
  /// and file system errors.
  static base::Result<std::unique_ptr<Stream>> open(const StreamOptions& options, Reporter reporter,
                                                    const StreamEnvironment& environment = {});
  /// Returns messages in flight. Afterwards all calls on its subscriptions fail; wake those that
  /// wait first (Subscription::wake).
  virtual ~Stream() = default;

  /// Appends MESSAGES. Thread-safe: concurrent calls are written together. Returns the id of the
  /// first message; the others have the following ids. On return they are in the files (on disk
  /// with `sync`), and only then are they delivered. Errors: kLimit (a message or its key is too
  /// long), kNoSpace, kNotFound (the directory is gone), and other file system errors: the first of
  /// them may then be in the stream.
  virtual base::Result<std::uint64_t> append(std::span<const NewMessage> messages) = 0;

  /// Opens or creates the subscription NAME (1 to 64 of A-Z a-z 0-9 - _), with OPTIONS from now on.
  /// A new one starts with the next message. Errors: kInvalid, and file system errors.
  virtual base::Result<std::shared_ptr<Subscription>> subscribe(
      const std::string& name, const SubscriptionOptions& options = {}) = 0;
  /// Deletes the subscription, its waiting messages and its dead letters. Errors: kNotFound, and
  /// file system errors.
  virtual base::Result<void> unsubscribe(const std::string& name) = 0;

  /// Of all subscriptions, sorted by name.
  virtual std::vector<SubscriptionStatistics> statistics() const = 0;
};

/// The status of a stream, seen from any process.
struct StreamStatus {
  std::uint64_t messages = 0;  // in the segments, settled or not
  std::uint64_t bytes = 0;     // of all segments
  std::uint64_t segments = 0;
  bool is_held = false;  // by a process
  std::vector<SubscriptionStatistics> subscriptions;
};

/// Whether the files at LOCATION belong to a stream.
base::Result<bool> is_stream(const SpoolLocation& location,
                             base::FileSystem& files = base::FileSystem::real());
/// Read-only; works while a process holds the stream. Errors: file system errors.
base::Result<StreamStatus> stream_status(const SpoolLocation& location,
                                         base::FileSystem& files = base::FileSystem::real());
using StreamVisitor = std::function<bool(const StreamedMessage& message)>;
/// Calls VISITOR with the messages that wait for SUBSCRIPTION or, if that is "", with every message
/// in the segments, settled or not, oldest first, until it returns false. Read-only. Unreadable
/// messages are reported to REPORTER. Errors: kNotFound (no such subscription), and file system
/// errors.
base::Result<void> visit_stream(const SpoolLocation& location, const std::string& subscription,
                                const StreamVisitor& visitor, const Reporter& reporter,
                                base::FileSystem& files = base::FileSystem::real());
/// The same for the dead letters of SUBSCRIPTION.
base::Result<void> visit_dead_letters(const SpoolLocation& location,
                                      const std::string& subscription, const StreamVisitor& visitor,
                                      const Reporter& reporter,
                                      base::FileSystem& files = base::FileSystem::real());

}  // namespace quarry::spool
