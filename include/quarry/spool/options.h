// The parameters of a queue, under rsyslog's current names (queue.*) if they mean the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::spool {

using std::chrono::milliseconds;

enum class QueueType : std::uint8_t {
  kDirect,  // no queue: enqueue() calls the consumer
  kMemory,  // disk-assisted if it has a filename
  kDisk,
};

/// What to do with damaged files.
enum class OnCorruption : std::uint8_t {
  kSafe,    // read what can be read, and keep the damaged segment under another name
  kIgnore,  // read what can be read, and delete the damaged segment
};

/// No limit, for any timeout.
inline constexpr milliseconds kEternal = milliseconds::max();
/// No limit, for queue.size: more than any machine can hold.
inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max() / 100;

/// The value of queue.dequeuetimeend that means "at any time".
inline constexpr int kNoDequeueTimeEnd = 25;

struct QueueOptions {
  QueueType type = QueueType::kMemory;
  /// queue.spooldirectory, queue.filename: directory and name prefix of the queue's files. Required
  /// for kDisk; a queue in memory is disk-assisted with them.
  std::filesystem::path spool_directory;
  std::string filename;

  // --- messages --------------------------------------------------------------------------------

  /// queue.size: maximum number of messages in memory, or in a disk queue. Messages being delivered
  /// count, except in a disk-assisted queue. Several concurrent producers may exceed the size of a
  /// disk queue. If another process delivers from it, messages that it has not checkpointed count,
  /// too (see its queue.checkpointinterval).
  std::size_t size = 10000;
  /// queue.highwatermark: messages in memory at which moving them to disk starts (90 % of the
  /// size).
  std::optional<std::size_t> high_watermark;
  /// queue.lowwatermark: messages in memory at which it stops (70 % of the size).
  std::optional<std::size_t> low_watermark;
  /// queue.fulldelaymark, queue.lightdelaymark: above these, producers that can wait do (97 %, 70
  /// %).
  std::optional<std::size_t> full_delay_mark;
  std::optional<std::size_t> light_delay_mark;
  /// queue.discardmark: above it, messages with queue.discardseverity or a less severe one are
  /// discarded, on enqueue and on delivery (80 %; severity 8: never). Does not apply to the disk
  /// part of a disk-assisted queue, which does not delay producers.
  std::optional<std::size_t> discard_mark;
  std::uint8_t discard_severity = 8;

  /// queue.samplinginterval: keep only the last of this many messages; 0 and 1: keep all.
  std::size_t sampling_interval = 0;

  // --- files -----------------------------------------------------------------------------------

  /// queue.maxfilesize: bytes of a segment; its last message may exceed this.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// queue.maxdiskspace: bytes of all segments, at least max_file_size; 0: no limit.
  std::uint64_t max_disk_space = 0;
  /// queue.checkpointinterval: messages between two writes of the read position; 0: only after each
  /// segment and at the end.
  std::size_t checkpoint_interval = 0;
  /// queue.syncqueuefiles: enqueued messages survive a crash of the machine.
  bool sync_queue_files = false;
  /// queue.saveonshutdown: write messages left in memory to disk, however long that takes.
  bool save_on_shutdown = false;
  /// queue.oncorruption.
  OnCorruption on_corruption = OnCorruption::kSafe;

  // --- workers ---------------------------------------------------------------------------------

  /// queue.workerthreads: maximum number of concurrent consumers.
  std::size_t worker_threads = 1;
  /// queue.workerthreadminimummessages: messages per additional worker (size / threads).
  std::optional<std::size_t> worker_thread_minimum_messages;
  /// queue.dequeuebatchsize: maximum number of messages per batch.
  std::size_t dequeue_batch_size = 128;
  /// queue.mindequeuebatchsize: messages that a worker waits for (0: does not wait), for at most
  /// queue.mindequeuebatchsize.timeout, and not during shutdown. At most the batch size, and at
  /// most what the queue can hold.
  std::size_t min_dequeue_batch_size = 0;
  milliseconds min_dequeue_batch_timeout{1000};
  /// queue.dequeueslowdown: microseconds between batches.
  std::chrono::microseconds dequeue_slowdown{0};
  /// queue.dequeuetimebegin, queue.dequeuetimeend: hours of local time (0 to 23, and 24 for the
  /// end) between which messages are delivered; 22 to 4 is at night. With an end of 25: at any
  /// time. A queue without a disk that shuts down outside these hours delivers anyway, or it would
  /// lose the messages.
  int dequeue_time_begin = 0;
  int dequeue_time_end = kNoDequeueTimeEnd;

  // --- time-outs -------------------------------------------------------------------------------

  /// queue.timeoutenqueue: how long enqueue() waits for space in a full queue; then it discards.
  milliseconds timeout_enqueue{2000};
  /// queue.timeoutshutdown: how long workers may continue after shutdown begins.
  milliseconds timeout_shutdown{1500};
  /// queue.timeoutactioncompletion: how much longer consumers may take for their current batch.
  milliseconds timeout_action_completion{1000};
  /// queue.timeoutworkerthreadshutdown: idle time after which a worker ends; -1: never.
  milliseconds timeout_worker_thread_shutdown{60000};

  bool is_disk_assisted() const { return type == QueueType::kMemory && !filename.empty(); }
};

/// Maximum size of a message in the files of a queue with OPTIONS. A longer one would never fit,
/// and would block all others forever.
std::size_t max_content(const QueueOptions& options);

/// Minimum of queue.maxfilesize.
inline constexpr std::uint64_t kMinFileSize = 1024;
/// Defaults of the marks, in percent of the size.
inline constexpr std::size_t kHighWatermarkPercent = 90;
inline constexpr std::size_t kLowWatermarkPercent = 70;
inline constexpr std::size_t kFullDelayMarkPercent = 97;
inline constexpr std::size_t kLightDelayMarkPercent = 70;
inline constexpr std::size_t kDiscardMarkPercent = 80;

/// A parameter: its name without "queue.", and its documentation.
struct Parameter {
  std::string_view name;
  std::string_view value;  // placeholder: "MESSAGES"
  std::string_view description;
};
std::vector<Parameter> parameters();

/// The value of parameter NAME, which must exist, as a user would set it ("1m"), or in words: "no
/// limit", "90 % of the size".
std::string value_of(const QueueOptions& options, std::string_view name);

/// Sets parameter NAME (without "queue.") from TEXT. File sizes accept k, m and g (powers of 1024);
/// times are in milliseconds, except dequeueslowdown; switches are on or off. Errors: kNotFound (no
/// such parameter), kInvalid (the message says what the value must be).
base::Result<void> set_parameter(QueueOptions& options, std::string_view name,
                                 std::string_view text);

std::tm local_time();
/// The time from LOCAL, a local time, until messages are delivered (queue.dequeuetimebegin); 0: now.
/// Recompute it now and then, because the clock may be changed meanwhile.
std::chrono::seconds until_window(const QueueOptions& options, const std::tm& local);

/// OPTIONS with defaults for unset marks, validated (low <= high <= size and so on). Errors:
/// kInvalid; the message names the parameters.
base::Result<QueueOptions> complete(QueueOptions options);

}  // namespace quarry::spool
