// A queue that works in memory in normal operation, and that does not lose messages while its
// consumer is down.
//
//   direct         enqueue() calls the consumer
//   memory         a bounded list in memory; workers deliver from it
//   disk           segment files (src/spool/segments/segment_format.h); workers deliver from them
//   disk-assisted  like memory, until the high watermark is reached; then messages go through an
//                  additional disk queue until the disk queue is empty
//                  (src/spool/queue/disk_assistance.h)
//
// Delivery is at least once. Duplicates occur only after a crash, or if a consumer does not finish
// during shutdown. With one worker, the messages of each producer are delivered in order, even
// across mode changes and restarts. With several workers, batches are *started* in order but
// delivered concurrently, so a consumer that needs a strict order has to sort the messages itself.
// After a restart, later messages can also overtake messages that a consumer returned during
// shutdown.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/spool/message.h"
#include "quarry/spool/options.h"

namespace quarry::spool {

/// The result that a consumer returns for a batch.
struct Delivery {
  /// Number of delivered messages, counted from the start of the batch. The rest of the batch is
  /// delivered again before any later messages.
  std::size_t delivered = 0;
  /// Delay before the rest of the batch is delivered again. If no message was delivered, the delay
  /// is at least 10 ms.
  std::chrono::milliseconds retry_after{0};
};

/// Takes a batch. Called in the thread of a worker, and concurrently if the queue has several
/// workers. A consumer should return soon after STOP is requested. An exception means that no
/// message of the batch was delivered.
using Consumer =
    std::function<Delivery(std::span<const Message> batch, const std::stop_token& stop)>;

/// Receives lines for the administrator about problems with files, and about messages on disk at
/// startup. LINE does not include a line end. Called in any thread, but never concurrently. The
/// queue waits for the function, so the function must not call the queue.
using Reporter = std::function<void(const std::string& line)>;

/// The result of a shutdown.
struct Ending {
  std::uint64_t saved = 0;         // messages on disk, for the next start
  std::uint64_t lost = 0;          // messages that were in memory and are lost
  std::size_t consumers_left = 0;  // consumers that did not return in time and still run
};

/// Numbers of messages since the start of the queue. The values are read one after the other, so
/// they might be slightly inconsistent.
struct Statistics {
  std::uint64_t size = 0;              // in memory, including messages in delivery
  std::uint64_t on_disk = 0;           // undelivered, including messages in delivery
  std::uint64_t disk_bytes = 0;        // size of all segments
  std::uint64_t max_size = 0;          // maximum of `size`
  std::uint64_t enqueued = 0;          // accepted
  std::uint64_t delivered = 0;         // accepted by the consumer
  std::uint64_t retried = 0;           // returned by the consumer; each return counts
  std::uint64_t discarded = 0;         // rejected because of the discard mark
  std::uint64_t discarded_queued = 0;  // accepted, but discarded later because of the mark
  std::uint64_t left_out = 0;          // skipped by queue.samplinginterval, not enqueued
  std::uint64_t full = 0;              // rejected after queue.timeoutenqueue
  std::uint64_t lost = 0;              // left in memory when the queue ended
  std::uint64_t high_watermark_hits = 0;
  std::uint64_t da_runs = 0;      // number of times disk-assisted mode has begun
  bool is_disk_assisted = false;  // whether disk-assisted mode is active
  std::uint64_t workers = 0;      // number of delivering threads
};

class Queue {
 public:
  /// Starts a queue, which first delivers the messages on disk. If CONSUMER is empty, messages are
  /// written to disk and not delivered (enqueue-only). FILES is not owned and must outlive the
  /// queue. Errors: kInvalid (OPTIONS), kBusy (another process uses the files), and file system
  /// errors.
  static Result<std::unique_ptr<Queue>> start(const QueueOptions& options, Consumer consumer,
                                              Reporter reporter,
                                              base::FileSystem& files = base::FileSystem::real());
  /// Calls shutdown().
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Accepts MESSAGE, unless queue.samplinginterval skips it. On return, the message is in memory,
  /// in the files (for a disk queue), or on disk (with queue.syncqueuefiles). Thread-safe. Errors:
  /// kLimit (the queue was full for queue.timeoutenqueue, or the message is too long), kDiscarded
  /// (because of its severity), kBusy (the queue is shutting down), and file system errors for a
  /// disk queue. After an error, the message is not in the queue.
  Result<void> enqueue(Message message, Delay delay = Delay::kNone);
  /// Accepts MESSAGES in order, under one lock. Returns the number of accepted messages, counted
  /// from the first. If some were rejected, sets *error.
  std::size_t enqueue(std::span<Message> messages, Delay delay, Error* error);

  /// Shuts down as configured: rejects new messages, waits for workers, and saves messages. A
  /// second call returns the result of the first.
  Ending shutdown();

  /// Returns the current statistics. Never blocks producers or workers.
  Statistics statistics() const;
  /// Checks that the queue's files still exist. While no messages arrive, only this function
  /// notices that the files are gone. Errors: kNotFound (the files or their directory were removed,
  /// moved or replaced).
  Result<void> check_files() const;
  /// Waits until all messages are delivered, at most for TIMEOUT. Returns whether all are
  /// delivered.
  bool wait_until_empty(std::chrono::milliseconds timeout);

 private:
  class Implementation;
  explicit Queue(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quarry::spool
