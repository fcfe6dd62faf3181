// A durable list of messages with several readers: each message is on the disk once, and each
// destination has a position of its own (subscription.h). One process holds it.
//
//   NAME.stream               what tells a stream from a queue
//   NAME.00000001, …          segments, as of a queue (src/spool/segments/segment_format.h), of envelopes
//                             (src/spool/stream/envelope.h)
//   NAME.SUB.00000001, …      the journal of subscription SUB (src/spool/stream/journal.h)
//   NAME.SUB.dead.…           what SUB has given up: a stream of its own
//   NAME.write.lock, NAME.read.lock
//
// A message's id is its place in the stream: 1, 2, 3, …, over all restarts. A segment goes when all
// subscriptions have settled everything in it and before it; the last one stays, since it tells the
// next id. Without a subscription nothing is kept.
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
  /// The folder, which is made, and NAME, without a dot or a slash.
  SpoolLocation location;
  /// Bytes of a segment, but for the last message of it: what is freed at once.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// Bytes of all segments; 0: no limit. Journals and dead letters do not count.
  std::uint64_t max_disk_space = 0;
  /// What append() has returned for survives that the machine stops.
  bool sync = true;
};

/// What a stream needs from outside; a test holds it still. Nothing of it is owned; all must outlive
/// the stream.
struct StreamEnvironment {
  base::FileSystem& files = base::FileSystem::real();
  const base::Clock& clock = base::system_clock();
  /// From 0 up to but not 1, for the jitter of delays; called in any thread. Empty: the machine's.
  std::function<double()> random = {};
};

/// Bytes of a key.
inline constexpr std::size_t kMaxKey = 255;

/// A message for a stream.
struct NewMessage {
  std::string content;
  /// What tells a consumer that two are the same: the second time after an acknowledgement that got
  /// lost. The stream keeps it and never looks at it. kMaxKey bytes at most.
  std::string key = {};
  std::uint8_t severity = kInformational;
};
/// Bytes that the content of one may have.
inline constexpr std::size_t kMaxStreamContent = kMaxContent - 4096;
/// Errors: kLimit, no stream takes MESSAGE.
base::Result<void> check(const NewMessage& message);

class StreamCore;
class Stream {
 public:
  /// Opens the stream, or makes it; the subscriptions that it had are there, and go on holding their
  /// messages, whether somebody asks for them or not. Errors: kInvalid (OPTIONS), kBusy (another
  /// process has it), and what the disk says.
  static base::Result<std::unique_ptr<Stream>> open(const StreamOptions& options, Reporter reporter,
                                                    const StreamEnvironment& environment = {});
  /// What is in hand is given back. All calls on its subscriptions fail from then on; those that wait
  /// are to be woken before (Subscription::wake).
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Appends MESSAGES, from any thread: those of several callers go to the disk together. Returns
  /// the id of the first; those of the others follow. When it returns they are in the files, on the
  /// disk with `sync`, and not before that anybody is given one. Errors: kLimit (one is too long, or
  /// has a key that is), kNoSpace, kNotFound (the folder has gone), and what else the disk says:
  /// some of them, from the first on, may be in the stream then.
  base::Result<std::uint64_t> append(std::span<const NewMessage> messages);

  /// The subscription called NAME (1 to 64 of A-Z a-z 0-9 - _), which is made if there is none; from
  /// now on with OPTIONS. Errors: kInvalid, and what the disk says.
  base::Result<std::shared_ptr<Subscription>> subscribe(const std::string& name,
                                                        const SubscriptionOptions& options = {});
  /// Forgets the subscription, what waits for it, and its dead letters. Errors: kNotFound, and what
  /// the disk says.
  base::Result<void> unsubscribe(const std::string& name);

  /// The names of all subscriptions, in their order.
  std::vector<std::string> subscriptions() const;
  std::vector<SubscriptionStatistics> statistics() const;
  /// Bytes of all segments.
  std::uint64_t bytes() const;
  /// The id that the next message will have.
  std::uint64_t next_id() const;

 private:
  explicit Stream(std::unique_ptr<StreamCore> core);
  std::unique_ptr<StreamCore> core_;
};

/// What there is to see of a stream from outside.
struct StreamStatus {
  std::uint64_t messages = 0;  // in the segments, settled or not
  std::uint64_t bytes = 0;     // of all segments
  std::uint64_t segments = 0;
  bool is_held = false;  // by a process
  std::vector<SubscriptionStatistics> subscriptions;
};

/// Whether the files at PLACE are of a stream.
base::Result<bool> is_stream(const SpoolLocation& location,
                             base::FileSystem& files = base::FileSystem::real());
/// Looks, and changes nothing, also while a process has the stream. Errors: what the disk says.
base::Result<StreamStatus> stream_status(const SpoolLocation& location,
                                         base::FileSystem& files = base::FileSystem::real());
using StreamVisitor = std::function<bool(const StreamedMessage& message)>;
/// Shows VISITOR what waits for SUBSCRIPTION, or, if that is "", every message in the segments,
/// settled or not, the oldest first, until it returns false; changes nothing. What cannot be read is
/// told to REPORTER. Errors: kNotFound (no such subscription), and what the disk says.
base::Result<void> visit_stream(const SpoolLocation& location, const std::string& subscription,
                                const StreamVisitor& visitor, const Reporter& reporter,
                                base::FileSystem& files = base::FileSystem::real());
/// The same for what SUBSCRIPTION has given up.
base::Result<void> visit_dead_letters(const SpoolLocation& location,
                                      const std::string& subscription, const StreamVisitor& visitor,
                                      const Reporter& reporter,
                                      base::FileSystem& files = base::FileSystem::real());

}  // namespace quarry::spool
