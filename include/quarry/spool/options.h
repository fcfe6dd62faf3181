// The parameters of a queue, under the names that rsyslog gives them today (queue.*), where they
// mean the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  kDirect,  // no queue: who enqueues consumes
  kMemory,  // with a filename: disk-assisted
  kDisk,
};

/// What to do with files that are not as they were left.
enum class OnCorruption : std::uint8_t {
  kSafe,    // a damaged segment is read as far as it can be, and kept under another name
  kIgnore,  // the same, and nothing of it is kept
};

/// "For ever", for every time-out.
inline constexpr milliseconds kEternal = milliseconds::max();
/// "Any number", for queue.size: more than any machine has room for.
inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max() / 100;

/// The hour of queue.dequeuetimeend that means: at any time.
inline constexpr int kNoDequeueTimeEnd = 25;

struct QueueOptions {
  QueueType type = QueueType::kMemory;
  /// queue.spooldirectory, queue.filename: where the files of the queue are, and what their names
  /// begin with. For kDisk both are needed; a queue in memory is disk-assisted with them.
  std::filesystem::path spool_directory;
  std::string filename;

  // --- messages --------------------------------------------------------------------------------

  /// queue.size: how many there may be in memory; of a disk queue: at all. What consumers have
  /// counts, but not where the queue is disk-assisted. Several producers at a time may pass the
  /// size of a disk queue together. Where another process delivers from it, what that has not
  /// written down yet counts, too (its queue.checkpointinterval).
  std::size_t size = 10000;
  /// queue.highwatermark: from so many in memory on, they go to the disk (90 % of the size).
  std::optional<std::size_t> high_watermark;
  /// queue.lowwatermark: until so few are left in memory (70 % of the size).
  std::optional<std::size_t> low_watermark;
  /// queue.fulldelaymark, queue.lightdelaymark: from where on those wait that can (97 %, 70 %).
  std::optional<std::size_t> full_delay_mark;
  std::optional<std::size_t> light_delay_mark;
  /// queue.discardmark: from so many on, those that matter as little as queue.discardseverity, or
  /// less, are discarded, when they come and when they would be delivered (80 %; 8: none is). Not
  /// those on the disk of a disk-assisted queue: they are in nobody's way.
  std::optional<std::size_t> discard_mark;
  std::uint8_t discard_severity = 8;

  /// queue.samplinginterval: of so many messages the last one is taken, and the others are not; 0
  /// and 1: all are.
  std::size_t sampling_interval = 0;

  // --- files -----------------------------------------------------------------------------------

  /// queue.maxfilesize: bytes of a segment, but for the last message of it.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// queue.maxdiskspace: bytes of all segments, not below max_file_size; 0: no limit.
  std::uint64_t max_disk_space = 0;
  /// queue.checkpointinterval: after how many messages it is written down how far reading has come;
  /// 0: when a segment is done, and at the end.
  std::size_t checkpoint_interval = 0;
  /// queue.syncqueuefiles: what was taken is on the disk, even if the machine stops.
  bool sync_queue_files = false;
  /// queue.saveonshutdown: what is left in memory goes to the disk, however long that takes.
  bool save_on_shutdown = false;
  /// queue.oncorruption.
  OnCorruption on_corruption = OnCorruption::kSafe;

  // --- workers ---------------------------------------------------------------------------------

  /// queue.workerthreads: at most so many consumers at a time.
  std::size_t worker_threads = 1;
  /// queue.workerthreadminimummessages: one more of them for so many messages (size / threads).
  std::optional<std::size_t> worker_thread_minimum_messages;
  /// queue.dequeuebatchsize: messages that a consumer gets at once, at most.
  std::size_t dequeue_batch_size = 128;
  /// queue.mindequeuebatchsize: for so many a worker waits (0: for none), but no longer than
  /// queue.mindequeuebatchsize.timeout, and not at the end. Not more than the batch size, or than
  /// there may be.
  std::size_t min_dequeue_batch_size = 0;
  milliseconds min_dequeue_batch_timeout{1000};
  /// queue.dequeueslowdown: microseconds from one batch to the next.
  std::chrono::microseconds dequeue_slowdown{0};
  /// queue.dequeuetimebegin, queue.dequeuetimeend: hours of local time (0 to 23, and 24 for the
  /// end); messages are delivered from the first one on, until the second one begins. From 22 to 4
  /// is at night. With an end of 25: at any time. What ends meanwhile without a disk delivers what
  /// it has: it would be lost.
  int dequeue_time_begin = 0;
  int dequeue_time_end = kNoDequeueTimeEnd;

  // --- time-outs -------------------------------------------------------------------------------

  /// queue.timeoutenqueue: how long a full queue holds up whoever enqueues; 0: it is discarded.
  milliseconds timeout_enqueue{2000};
  /// queue.timeoutshutdown: how long workers may go on once the queue is to end.
  milliseconds timeout_shutdown{1500};
  /// queue.timeoutactioncompletion: how much longer a consumer may go on with what it has.
  milliseconds timeout_action_completion{1000};
  /// queue.timeoutworkerthreadshutdown: after how long without work a worker ends; -1: never.
  milliseconds timeout_worker_thread_shutdown{60000};

  bool is_disk_assisted() const { return type == QueueType::kMemory && !filename.empty(); }
};

/// Bytes that one message may have in the files of a queue with OPTIONS: they can never have room
/// for a longer one, and it would hold up all others for ever.
std::size_t max_content(const QueueOptions& options);

/// The least that queue.maxfilesize may be.
inline constexpr std::uint64_t kMinFileSize = 1024;
/// What marks that are not set are, in percent of the size.
inline constexpr std::size_t kHighWatermarkPercent = 90;
inline constexpr std::size_t kLowWatermarkPercent = 70;
inline constexpr std::size_t kFullDelayMarkPercent = 97;
inline constexpr std::size_t kLightDelayMarkPercent = 70;
inline constexpr std::size_t kDiscardMarkPercent = 80;

/// A parameter by its name without "queue.", and what a person is told of it.
struct Parameter {
  std::string_view name;
  std::string_view value;  // what its value is: "MESSAGES", say
  std::string_view description;
};
std::vector<Parameter> parameters();

/// What the parameter called NAME, which has to be there, is in OPTIONS, as a person would set it:
/// "1m"; or in words: "no limit", "90 % of the size".
std::string value_of(const QueueOptions& options, std::string_view name);

/// Sets the parameter called NAME (without "queue.") from TEXT. Sizes of files take k, m and g
/// (1024 each); times are milliseconds, but for dequeueslowdown; switches are on or off. Errors:
/// kNotFound (no such parameter), kInvalid (what the value must be).
base::Result<void> set_parameter(QueueOptions& options, std::string_view name,
                                 std::string_view text);

/// OPTIONS with the marks that were not set, checked: low <= high <= size and so on. Errors:
/// kInvalid, by the parameters' names.
base::Result<QueueOptions> complete(QueueOptions options);

}  // namespace quarry::spool
