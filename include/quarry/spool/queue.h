// A queue that is as fast as memory while all is well, and loses nothing when its consumer is away.
//
//   direct         who enqueues consumes
//   memory         a bounded list in memory, and workers that deliver from it
//   disk           segment files (see src/spool/segments/segment_format.h), and workers that deliver from them
//   disk-assisted  memory, until the high water mark is reached; then memory is what buffers for a
//                  disk queue of its own, until that is empty (see src/spool/queue/disk_assistance.h)
//
// Delivery is at least once; twice only after a crash, or where a consumer was left behind at the
// end. With one worker, what one producer has enqueued is delivered in that order, through all
// changes of mode and over restarts. With more workers batches are *begun* in that order, and are
// delivered side by side: a consumer that needs more has to sort them out itself. What one of them
// has given back when the queue ends may come behind what was later, at the next start.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/spool/message.h"
#include "quarry/spool/options.h"
#include "quarry/spool/statistics.h"

namespace quarry::spool {

/// What a consumer did with a batch.
struct Delivery {
  /// So many from the batch's beginning are done with. The others are rolled back: they come again,
  /// before anything later.
  std::size_t delivered = 0;
  /// "Try again": how long to wait before the rest comes again. Where nothing was delivered, it
  /// waits 10 ms at least.
  std::chrono::milliseconds retry_after{0};
};

/// Takes a batch, in a worker's thread: several at a time with several workers. Should return soon
/// once STOP is requested. An exception is as if nothing of the batch was delivered.
using Consumer =
    std::function<Delivery(std::span<const Message> batch, const std::stop_token& stop)>;

/// Told what a person should know: trouble with files, and what was found at the start. A line
/// without its end. May be called in any thread, one at a time, while the queue waits: it must not
/// call the queue.
using Reporter = std::function<void(const std::string& line)>;

/// How a queue ended.
struct Ending {
  std::uint64_t saved = 0;         // on the disk, for the next start
  std::uint64_t lost = 0;          // were in memory, and are nowhere now
  std::size_t consumers_left = 0;  // do not end; they are left to the process's end
};

class Queue {
 public:
  /// Starts a queue. CONSUMER may be empty: nothing is delivered then, and what comes goes to the
  /// disk (enqueue-only). What is on the disk is delivered first. FILES is not owned, and must
  /// outlive the queue. Errors: kInvalid (OPTIONS), kBusy (another process has the files), and what
  /// the disk says.
  static base::Result<std::unique_ptr<Queue>> start(
      const QueueOptions& options, Consumer consumer, Reporter reporter,
      base::FileSystem& files = base::FileSystem::real());
  /// As shutdown().
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Takes MESSAGE (or, with queue.samplinginterval, leaves it out). From then on it is in memory,
  /// on the disk (a disk queue), or there for good (with queue.syncqueuefiles). Safe from any
  /// thread. Errors: kLimit (the queue was full for queue.timeoutenqueue; or the message is too
  /// long), kDiscarded (for its severity), kBusy (the queue is ending), and for a disk queue
  /// what the disk says; nothing was taken then.
  base::Result<void> enqueue(Message message, Delay delay = Delay::kNone);
  /// The same for all of MESSAGES, in their order, with one lock. Returns how many were taken, from
  /// the first on; less than all only with *error set.
  std::size_t enqueue(std::span<Message> messages, Delay delay, base::Error* error);

  /// Ends the queue as its parameters say: takes no more, gives workers their time, saves what is
  /// to be saved. The second call returns what the first did.
  Ending shutdown();

  /// Stops nobody.
  Statistics statistics() const;
  /// Whether its files are still where they were, for who has nothing to enqueue just now. Errors:
  /// kNotFound (they, or their folder, were removed, moved or replaced: nobody would find what is
  /// enqueued).
  base::Result<void> check_files() const;
  /// Returns when nothing waits to be delivered, or after TIMEOUT: whether nothing did.
  bool wait_until_empty(std::chrono::milliseconds timeout);

 private:
  class Implementation;
  explicit Queue(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace quarry::spool
