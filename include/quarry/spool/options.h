// The parameters of a queue. Those that rsyslog also has are called as in rsyslog (queue.*).
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
  kDirect,  // there is no queue: enqueue() calls the consumer
  kMemory,  // disk-assisted if it has a filename
  kDisk,
};

/// How to handle damaged files.
enum class OnCorruption : std::uint8_t {
  kSafe,    // read what can be read, and keep the damaged segment under another name
  kIgnore,  // read what can be read, and delete the damaged segment
};

/// Means that there is no limit, for any timeout.
inline constexpr milliseconds kEternal = milliseconds::max();
/// Means that there is no limit, for queue.size. It is more than any machine can hold.
inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max() / 100;

/// The value of queue.dequeuetimeend that allows delivery at any time.
inline constexpr int kNoDequeueTimeEnd = 25;

struct QueueOptions {
  QueueType type = QueueType::kMemory;
  /// queue.spooldirectory, queue.filename: directory and name prefix of the queue's files. Required
  /// for kDisk. With them, a queue of type kMemory is disk-assisted.
  std::filesystem::path spool_directory;
  std::string filename;

  // --- messages --------------------------------------------------------------------------------

  /// queue.size: maximum number of messages in memory, or in a disk queue. Messages that are being
  /// delivered count, except in a disk-assisted queue. Several concurrent producers may exceed the
  /// size of a disk queue. If another process delivers from the queue, the messages that it has not
  /// checkpointed also count (see its queue.checkpointinterval).
  std::size_t size = 10000;
  /// queue.highwatermark: number of messages in memory at which the queue starts to move them to
  /// disk (default: 90 % of the size).
  std::optional<std::size_t> high_watermark;
  /// queue.lowwatermark: number of messages in memory at which it stops (default: 70 % of the
  /// size).
  std::optional<std::size_t> low_watermark;
  /// queue.fulldelaymark, queue.lightdelaymark: numbers of messages above which producers that can
  /// wait are delayed (defaults: 97 % and 70 % of the size).
  std::optional<std::size_t> full_delay_mark;
  std::optional<std::size_t> light_delay_mark;
  /// queue.discardmark: number of messages above which messages of queue.discardseverity, or of a
  /// less severe one, are discarded on enqueue and on delivery (default: 80 % of the size; with
  /// severity 8, messages are never discarded). It does not apply to the disk part of a
  /// disk-assisted queue, which does not delay producers.
  std::optional<std::size_t> discard_mark;
  std::uint8_t discard_severity = 8;

  /// queue.samplinginterval: keep only the last of every N messages; 0 and 1 keep all.
  std::size_t sampling_interval = 0;

  // --- files -----------------------------------------------------------------------------------

  /// queue.maxfilesize: maximum size of a segment in bytes; its last message may exceed it.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// queue.maxdiskspace: maximum size of all segments in bytes, at least max_file_size; 0: no
  /// limit.
  std::uint64_t max_disk_space = 0;
  /// queue.checkpointinterval: number of messages between two writes of the read position. With 0,
  /// it is written only after each segment and when the queue ends.
  std::size_t checkpoint_interval = 0;
  /// queue.syncqueuefiles: whether enqueued messages survive a crash of the machine.
  bool sync_queue_files = false;
  /// queue.saveonshutdown: whether to write the messages left in memory to disk, however long that
  /// takes.
  bool save_on_shutdown = false;
  /// queue.oncorruption.
  OnCorruption on_corruption = OnCorruption::kSafe;

  // --- workers ---------------------------------------------------------------------------------

  /// queue.workerthreads: maximum number of concurrent consumers.
  std::size_t worker_threads = 1;
  /// queue.workerthreadminimummessages: messages per additional worker (default: size / threads).
  std::optional<std::size_t> worker_thread_minimum_messages;
  /// queue.dequeuebatchsize: maximum number of messages per batch.
  std::size_t dequeue_batch_size = 128;
  /// queue.mindequeuebatchsize: number of messages that a worker waits for; with 0, it does not
  /// wait. It waits for at most queue.mindequeuebatchsize.timeout, and not during shutdown. The
  /// value is at most the batch size and at most what the queue can hold.
  std::size_t min_dequeue_batch_size = 0;
  milliseconds min_dequeue_batch_timeout{1000};
  /// queue.dequeueslowdown: pause between batches in microseconds.
  std::chrono::microseconds dequeue_slowdown{0};
  /// queue.dequeuetimebegin, queue.dequeuetimeend: hours of local time between which messages are
  /// delivered: 0 to 23, or 24 for the end of the day. 22 to 4 means at night. An end of 25 means
  /// at any time. A queue without a disk that shuts down outside these hours delivers anyway,
  /// because it would lose the messages otherwise.
  int dequeue_time_begin = 0;
  int dequeue_time_end = kNoDequeueTimeEnd;

  // --- time-outs -------------------------------------------------------------------------------

  /// queue.timeoutenqueue: how long enqueue() waits for space in a full queue before it discards
  /// messages.
  milliseconds timeout_enqueue{2000};
  /// queue.timeoutshutdown: how long workers may continue after shutdown begins.
  milliseconds timeout_shutdown{1500};
  /// queue.timeoutactioncompletion: how much longer consumers may take for their current batch.
  milliseconds timeout_action_completion{1000};
  /// queue.timeoutworkerthreadshutdown: idle time after which a worker ends; with -1, it never
  /// ends.
  milliseconds timeout_worker_thread_shutdown{60000};

  bool is_disk_assisted() const { return type == QueueType::kMemory && !filename.empty(); }
};

/// Returns the maximum size of a message in the files of a queue with OPTIONS. A longer message
/// would never fit and would block all others forever.
std::size_t max_content(const QueueOptions& options);

/// Minimum value of queue.maxfilesize.
inline constexpr std::uint64_t kMinFileSize = 1024;
/// Defaults of the marks, in percent of queue.size.
inline constexpr std::size_t kHighWatermarkPercent = 90;
inline constexpr std::size_t kLowWatermarkPercent = 70;
inline constexpr std::size_t kFullDelayMarkPercent = 97;
inline constexpr std::size_t kLightDelayMarkPercent = 70;
inline constexpr std::size_t kDiscardMarkPercent = 80;

/// Describes a parameter: its name without "queue.", a placeholder for its value, and its
/// documentation.
struct Parameter {
  std::string_view name;
  std::string_view value;  // placeholder such as "MESSAGES"
  std::string_view description;
};
std::vector<Parameter> parameters();

/// Returns the value of parameter NAME, which must exist, as a user would set it ("1m") or in words
/// ("no limit", "90 % of the size").
std::string value_of(const QueueOptions& options, std::string_view name);

/// Sets parameter NAME (without "queue.") from TEXT. File sizes may end in k, m or g (powers of
/// 1024). Times are in milliseconds, except dequeueslowdown. Switches are on or off. Errors:
/// kNotFound (no such parameter), kInvalid (the message says what the value must be).
base::Result<void> set_parameter(QueueOptions& options, std::string_view name,
                                 std::string_view text);

std::tm local_time();
/// Returns the time from LOCAL, a local time, until messages may be delivered
/// (queue.dequeuetimebegin); 0 if they may be delivered now. Compute it again from time to time,
/// because the clock may be changed in the meantime.
std::chrono::seconds until_window(const QueueOptions& options, const std::tm& local);

/// Returns OPTIONS, validated (low <= high <= size and so on), with defaults for marks that are not
/// set. Errors: kInvalid; the message names the parameters.
base::Result<QueueOptions> complete(QueueOptions options);

}  // namespace quarry::spool
