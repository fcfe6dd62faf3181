// The parameters of a queue. Parameters that also exist in rsyslog have rsyslog's names (queue.*).
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
  kDirect,  // without a queue: enqueue() calls the consumer
  kMemory,  // disk-assisted if it has a filename
  kDisk,
};

/// How to handle damaged files.
enum class OnCorruption : std::uint8_t {
  kSafe,    // read the intact part, and keep the damaged segment under another name
  kIgnore,  // read the intact part, and delete the damaged segment
};

/// Stands for "no limit" in any timeout.
inline constexpr milliseconds kEternal = milliseconds::max();
/// Stands for "no limit" in queue.size. Memory cannot hold this number of messages.
inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max() / 100;

/// Limit on the messages in the memory of a disk-assisted queue in bytes. Long messages count towards
/// queue.size and the marks in proportion to this limit.
inline constexpr std::size_t kMaxMemory = std::size_t{64} << 20;

/// The value of queue.dequeuetimeend with which messages are delivered at any time.
inline constexpr int kNoDequeueTimeEnd = 25;

struct QueueOptions {
  QueueType type = QueueType::kMemory;
  /// queue.spooldirectory, queue.filename: directory and name prefix of the queue's files. Both are
  /// required for kDisk. A queue of type kMemory with files is disk-assisted.
  std::filesystem::path spool_directory;
  std::string filename;

  // --- messages --------------------------------------------------------------------------------

  /// queue.size: maximum number of messages in memory, or in a disk queue. Messages that a consumer
  /// is processing also count, except in a disk-assisted queue. If several producers add messages
  /// at the same time, a disk queue can exceed this size. If another process delivers the messages
  /// of the queue, delivered messages still count until that process writes its read position
  /// (queue.checkpointinterval).
  std::size_t size = 10000;
  /// queue.highwatermark: if the number of messages in memory reaches this mark, the queue starts
  /// to move messages to disk (default: 90 % of the size).
  std::optional<std::size_t> high_watermark;
  /// queue.lowwatermark: if the number of messages in memory falls to this mark, the queue stops
  /// moving messages to disk (default: 70 % of the size).
  std::optional<std::size_t> low_watermark;
  /// queue.fulldelaymark, queue.lightdelaymark: numbers of messages at which producers that can
  /// wait are delayed (defaults: 97 % and 70 % of the size).
  std::optional<std::size_t> full_delay_mark;
  std::optional<std::size_t> light_delay_mark;
  /// queue.discardmark, queue.discardseverity: when the number of messages reaches the mark, the
  /// queue discards messages of this severity and less severe messages, on enqueue and on delivery
  /// (default: 80 % of the size; severity 8 disables discarding). In a disk-assisted queue,
  /// messages on disk do not count towards these marks, and are not discarded.
  std::optional<std::size_t> discard_mark;
  std::uint8_t discard_severity = 8;

  /// queue.samplinginterval: keep only the last of every N messages; 0 and 1 keep all.
  std::size_t sampling_interval = 0;

  // --- files -----------------------------------------------------------------------------------

  /// queue.maxfilesize: maximum size of a segment in bytes. The last message of a segment can
  /// exceed the limit.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// queue.maxdiskspace: maximum size of all segments in bytes, at least max_file_size; 0: no
  /// limit.
  std::uint64_t max_disk_space = 0;
  /// queue.checkpointinterval: number of messages between two writes of the read position. 0: the
  /// position is written only after each segment and when the queue ends.
  std::size_t checkpoint_interval = 0;
  /// queue.syncqueuefiles: whether enqueued messages survive a crash of the machine.
  bool sync_queue_files = false;
  /// queue.saveonshutdown: whether to write the remaining messages in memory to disk, without a
  /// time limit.
  bool save_on_shutdown = false;
  /// queue.oncorruption
  OnCorruption on_corruption = OnCorruption::kSafe;

  // --- workers ---------------------------------------------------------------------------------

  /// queue.workerthreads: maximum number of concurrent consumers.
  std::size_t worker_threads = 1;
  /// queue.workerthreadminimummessages: messages per additional worker (default: size / threads).
  std::optional<std::size_t> worker_thread_minimum_messages;
  /// queue.dequeuebatchsize: maximum number of messages per batch.
  std::size_t dequeue_batch_size = 128;
  /// queue.mindequeuebatchsize: number of messages that a worker waits for; 0: workers do not wait.
  /// A worker waits for at most queue.mindequeuebatchsize.timeout, and not during shutdown. The
  /// value is limited by the batch size and the capacity of the queue.
  std::size_t min_dequeue_batch_size = 0;
  milliseconds min_dequeue_batch_timeout{1000};
  /// queue.dequeueslowdown: pause between batches in microseconds.
  std::chrono::microseconds dequeue_slowdown{0};
  /// queue.dequeuetimebegin, queue.dequeuetimeend: the hours, in local time, at which delivery
  /// starts (0 to 23) and stops (0 to 24). With 22 and 4, messages are delivered from 22:00 to
  /// 4:00. If the end is 25, messages are delivered at any time. A queue without files ignores
  /// these hours during shutdown, because it would otherwise lose its messages.
  int dequeue_time_begin = 0;
  int dequeue_time_end = kNoDequeueTimeEnd;

  // --- time-outs -------------------------------------------------------------------------------

  /// queue.timeoutenqueue: maximum time for which enqueue() waits for space in a full queue. After
  /// this time, the messages are discarded.
  milliseconds timeout_enqueue{2000};
  /// queue.timeoutshutdown: maximum time for which workers continue during shutdown.
  milliseconds timeout_shutdown{1500};
  /// queue.timeoutactioncompletion: additional time for consumers to complete their current batch.
  milliseconds timeout_action_completion{1000};
  /// queue.timeoutworkerthreadshutdown: idle time after which a worker stops; -1: never.
  milliseconds timeout_worker_thread_shutdown{60000};

  bool is_disk_assisted() const { return type == QueueType::kMemory && !filename.empty(); }
};

/// Returns the maximum size of a message in the files of a queue with OPTIONS. A longer message
/// never fits, and blocks all later messages.
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

/// Returns the value of the parameter NAME, which must exist, in the syntax of set_parameter()
/// ("1m") or in words ("no limit", "90 % of the size").
std::string value_of(const QueueOptions& options, std::string_view name);

/// Sets the parameter NAME (without "queue.") from TEXT. File sizes can end in k, m or g (powers of
/// 1024). Times are in milliseconds, except for dequeueslowdown. Switches are on or off. Errors:
/// kNotFound (unknown parameter), kInvalid (the message describes the valid values).
Result<void> set_parameter(QueueOptions& options, std::string_view name, std::string_view text);

std::tm local_time();
/// Returns how long to wait, at the local time LOCAL, until messages can be delivered
/// (queue.dequeuetimebegin); 0 if they can be delivered now. Call it repeatedly during a wait,
/// because the clock might be changed.
std::chrono::seconds until_window(const QueueOptions& options, const std::tm& local);

/// Checks OPTIONS (low <= high <= size and so on). Returns the options with defaults for marks that
/// are not set. Errors: kInvalid; the message contains the names of the parameters.
Result<QueueOptions> complete(QueueOptions options);

}  // namespace quarry::spool
