// A durable list of messages with several readers. Each message is on disk once, and each reader
// has its own position (subscription.h). Only one process at a time can use a stream.
//
//   NAME.stream               shows that the files are a stream and not a queue
//   NAME.00000001, …          segments in a queue's format (src/spool/segments/segment_format.h);
//                             their messages are envelopes (src/spool/stream/envelope.h)
//   NAME.SUB.00000001, …      the journal of subscription SUB (src/spool/stream/journal.h)
//   NAME.SUB.dead.…           the dead letters of SUB, which are a stream of their own
//   NAME.SUB.kept.…           likewise, the messages that waited when SUB was retired
//   NAME.write.lock, NAME.read.lock
//
// Messages have the ids 1, 2, 3 and so on. Restarts do not reset the ids. A segment is deleted
// after all subscriptions have settled (delivered or given up) all of its messages. The last
// segment is kept, because it determines the next id. If the stream does not have a subscription,
// messages are not kept.
#pragma once

#include <cstdint>
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
  /// Directory and name. The directory is created if it does not exist. The name must not contain a
  /// dot or a slash.
  SpoolLocation location;
  /// Maximum size of a segment in bytes. The last message of a segment can exceed the limit. Only
  /// whole segments are deleted, so a large segment keeps settled messages on disk for longer.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// Maximum size of all segments in bytes; 0: no limit. Journals and dead letters do not count.
  std::uint64_t max_disk_space = 0;
  /// Whether appended messages survive a crash of the machine.
  bool sync = true;
};

/// The file system, the clock and random numbers for a stream. Tests replace these objects. Not
/// owned; the objects must outlive the stream.
struct StreamEnvironment {
  base::FileSystem& files = base::FileSystem::real();
  const base::Clock& clock = base::system_clock();
  /// Returns a number in [0, 1) for the jitter of delays. Called in any thread. If the function is
  /// empty, a default is used.
  std::function<double()> random = {};
};

/// Maximum size of a key in bytes.
inline constexpr std::size_t kMaxKey = 255;

struct NewMessage {
  std::string content;
  /// Lets a consumer recognize duplicates, which occur after a lost acknowledgement. The stream
  /// does not interpret the key. At most kMaxKey bytes.
  std::string key = {};
  std::uint8_t severity = kInformational;
};
/// Maximum size of a message's content in bytes.
inline constexpr std::size_t kMaxStreamContent = kMaxContent - 4096;
/// Checks whether a stream accepts MESSAGE. Errors: kLimit.
Result<void> check(const NewMessage& message);

class Stream {
 public:
  /// Opens or creates the stream. An existing subscription keeps its messages, even without a call
  /// of subscribe(). Errors: kInvalid (OPTIONS), kBusy (another process uses the stream), and file
  /// system errors.
  static Result<std::unique_ptr<Stream>> open(const StreamOptions& options, Reporter reporter,
                                              const StreamEnvironment& environment = {});
  /// Returns in-flight messages to their subscriptions. Later calls on the subscriptions fail.
  /// Before you destroy the stream, wake all subscriptions that wait (Subscription::wake).
  virtual ~Stream() = default;

  /// Appends MESSAGES. Returns the id of the first message; the others have the following ids. The
  /// messages are in the files (with `sync`: on disk) before the function returns and before they
  /// are delivered. Thread-safe: concurrent calls are written together. Errors: kLimit (a message
  /// or its key is too long), kNoSpace, kNotFound (the directory was removed), and other file
  /// system errors. After file system errors, some of the first messages might be in the stream.
  virtual Result<std::uint64_t> append(std::span<const NewMessage> messages) = 0;

  /// Opens or creates the subscription NAME (1 to 64 characters of A-Z a-z 0-9 - _) and applies
  /// OPTIONS to it. A new subscription starts with the first message that is appended after this
  /// call. Errors: kInvalid, and file system errors.
  virtual Result<std::shared_ptr<Subscription>> subscribe(
      const std::string& name, const SubscriptionOptions& options = {}) = 0;
  /// Deletes the subscription, its waiting messages and its dead letters. Errors: kNotFound, and
  /// file system errors.
  virtual Result<void> unsubscribe(const std::string& name) = 0;
  /// Ends the subscription NAME, but keeps its waiting messages and its dead letters in separate
  /// files. It gets no further messages, so these files do not grow. A later subscribe() returns
  /// the kept messages to the subscription. Errors: kNotFound, and file system errors.
  virtual Result<void> retire(const std::string& name) = 0;

  /// Returns the statistics of all subscriptions, sorted by name.
  virtual std::vector<SubscriptionStatistics> statistics() const = 0;
};

/// The status of a stream, which any process can read. `subscriptions` includes retired ones.
struct StreamStatus {
  std::uint64_t messages = 0;  // messages in the segments, settled or not
  std::uint64_t bytes = 0;     // size of all segments
  std::uint64_t segments = 0;
  bool is_held = false;  // whether a process uses the stream
  std::vector<SubscriptionStatistics> subscriptions;
};

Result<bool> is_stream(const SpoolLocation& location,
                       base::FileSystem& files = base::FileSystem::real());
/// Returns the status of the stream at LOCATION. Read-only. Another process can use the stream
/// at the same time. Errors: file system errors.
Result<StreamStatus> stream_status(const SpoolLocation& location,
                                   base::FileSystem& files = base::FileSystem::real());
using StreamVisitor = std::function<bool(const StreamedMessage& message)>;
/// Calls VISITOR with the messages that wait for SUBSCRIPTION, oldest first, until VISITOR returns
/// false. If SUBSCRIPTION is "", visits every message in the segments, settled or not. Read-only.
/// Unreadable messages are reported to REPORTER. Errors: kNotFound (unknown subscription), and file
/// system errors.
Result<void> visit_stream(const SpoolLocation& location, const std::string& subscription,
                          const StreamVisitor& visitor, const Reporter& reporter,
                          base::FileSystem& files = base::FileSystem::real());
/// Deletes the kept messages and the dead letters of the retired SUBSCRIPTION. Another process can
/// use the stream at the same time. Errors: kBusy (SUBSCRIPTION is not retired), kNotFound, and
/// file system errors.
Result<void> forget_retired(const SpoolLocation& location, const std::string& subscription,
                            const Reporter& reporter, const StreamEnvironment& environment = {});
/// Calls VISITOR with the dead letters of SUBSCRIPTION, like visit_stream().
Result<void> visit_dead_letters(const SpoolLocation& location, const std::string& subscription,
                                const StreamVisitor& visitor, const Reporter& reporter,
                                base::FileSystem& files = base::FileSystem::real());

}  // namespace quarry::spool
