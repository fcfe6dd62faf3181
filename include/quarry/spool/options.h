// The parameters of a queue, under the names that rsyslog gives them today (queue.*), where they
// mean the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::spool {

using std::chrono::milliseconds;

enum class QueueType : std::uint8_t {
  kDirect,  // no queue: who enqueues consumes
  kMemory,  // with a filename: disk-assisted
  kDisk,
};

/// "For ever", for every time-out.
inline constexpr milliseconds kEternal = milliseconds::max();
/// "Any number", for queue.size: more than any machine has room for.
inline constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max() / 100;

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
  /// less, are discarded (80 %; 8: none is).
  std::optional<std::size_t> discard_mark;
  std::uint8_t discard_severity = 8;

  // --- files -----------------------------------------------------------------------------------

  /// queue.maxfilesize: bytes of a segment, but for the last message of it.
  std::uint64_t max_file_size = std::uint64_t{1} << 20;
  /// queue.maxdiskspace: bytes of all segments; 0: no limit.
  std::uint64_t max_disk_space = 0;
  /// queue.checkpointinterval: after how many messages it is written down how far reading has come;
  /// 0: when a segment is done, and at the end.
  std::size_t checkpoint_interval = 0;
  /// queue.syncqueuefiles: what was taken is on the disk, even if the machine stops.
  bool sync_queue_files = false;
  /// queue.saveonshutdown: what is left in memory goes to the disk, however long that takes.
  bool save_on_shutdown = false;

  // --- workers ---------------------------------------------------------------------------------

  /// queue.workerthreads: at most so many consumers at a time.
  std::size_t worker_threads = 1;
  /// queue.workerthreadminimummessages: one more of them for so many messages (size / threads).
  std::optional<std::size_t> worker_thread_minimum_messages;
  /// queue.dequeuebatchsize: messages that a consumer gets at once, at most.
  std::size_t dequeue_batch_size = 128;
  /// queue.dequeueslowdown: microseconds from one batch to the next.
  std::chrono::microseconds dequeue_slowdown{0};

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
std::size_t most_content(const QueueOptions& options);

/// A parameter by its name without "queue.", and what a person is told of it.
struct Parameter {
  std::string_view name;
  std::string_view value;  // what its value is: "MESSAGES", say
  std::string_view description;
};
std::span<const Parameter> parameters();

/// Sets the parameter called NAME (without "queue.") from TEXT. Sizes of files take k, m and g
/// (1024 each); times are milliseconds, but for dequeueslowdown; switches are on or off. Errors:
/// kNotFound (no such parameter), kInvalid (what the value must be).
base::Result<void> set_parameter(QueueOptions& options, std::string_view name,
                                 std::string_view text);

/// OPTIONS with the marks that were not set, checked: low <= high <= size and so on. Errors:
/// kInvalid, by the parameters' names.
base::Result<QueueOptions> complete(QueueOptions options);

}  // namespace quarry::spool
