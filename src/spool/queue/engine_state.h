// The shared state of the parts of a queue's engine: parameters, store, counters. Unless noted
// otherwise, one mutex guards the whole state. The mutex is not held while a consumer runs or while
// messages are written to disk. A thread that holds a queue's mutex can lock the mutex of the
// queue's helper. The reverse order is not allowed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "disk_store.h"
#include "quarry/spool/queue.h"
#include "store.h"
#include "threading.h"

namespace quarry::spool {

class Engine;

/// The counters of a queue and its helper. Any thread can read the counters at any time.
struct Figures {
  using Count = std::atomic<std::uint64_t>;
  Count size, on_disk, disk_bytes, max_size, enqueued, delivered, retried, discarded,
      discarded_queued, left_out, full, lost, high_watermark_hits, da_runs, workers;
  std::atomic<bool> is_disk_assisted{false};

  /// Sets the size. Called only with the queue's mutex locked.
  void set_size(std::uint64_t now) {
    size.store(now, std::memory_order_relaxed);
    if (now > max_size.load(std::memory_order_relaxed)) {
      max_size.store(now, std::memory_order_relaxed);
    }
  }

  Statistics statistics() const {
    return {.size = size,
            .on_disk = on_disk,
            .disk_bytes = disk_bytes,
            .max_size = max_size,
            .enqueued = enqueued,
            .delivered = delivered,
            .retried = retried,
            .discarded = discarded,
            .discarded_queued = discarded_queued,
            .left_out = left_out,
            .full = full,
            .lost = lost,
            .high_watermark_hits = high_watermark_hits,
            .da_runs = da_runs,
            .is_disk_assisted = is_disk_assisted,
            .workers = workers};
  }
};

struct EngineSetup {
  QueueOptions options;  // with defaults for all marks
  Consumer consumer;
  Reporter reporter;
  std::shared_ptr<Figures> figures;
  SpoolFiles files;
  /// The store of a disk queue; otherwise null.
  std::unique_ptr<DiskStore> disk = nullptr;
  /// For a helper: called without the mutex after the helper has become empty.
  std::function<void()> on_empty = {};
  std::function<std::tm()> local_time = spool::local_time;
};

struct EngineState {
  explicit EngineState(EngineSetup given);

  /// Returns the number of messages in the store and with consumers.
  std::uint64_t held() const { return store->waiting() + in_flight; }
  /// Returns the number of messages to compare with the marks. With disk assistance, messages in
  /// delivery do not count. Consumers can keep messages for a long time, and the queue must still
  /// be able to reach the high watermark.
  std::uint64_t fullness() const {
    if (is_read_elsewhere()) return disk->unsettled();
    return is_da_enabled() ? level() : held();
  }
  /// Returns the number of messages in memory. If they have many bytes, returns a number that is in the
  /// same proportion to queue.size as the bytes are to kMaxMemory.
  std::uint64_t level() const {
    const std::uint64_t bytes_per_message =
        std::max<std::uint64_t>(kMaxMemory / setup.options.size, 1);
    return std::max(store->waiting(), store->bytes_in_memory() / bytes_per_message);
  }
  /// Updates the figures.
  void count() {
    const std::uint64_t all = held();
    step();
    undelivered.store(all, std::memory_order_release);
    if (disk == nullptr) {
      setup.figures->set_size(all);
      return;
    }
    // Without a consumer, another process delivers the messages. Count all messages after the last
    // position that the other process has stored, because its exact progress is unknown.
    setup.figures->on_disk = setup.consumer ? all : disk->unsettled();
    setup.figures->disk_bytes = disk->bytes();
  }
  /// If another process delivers the messages, reads the progress of that process for fullness().
  void refresh_progress();
  void report(const std::string& line) const { setup.reporter(line); }

  bool is_da_enabled() const { return setup.options.is_disk_assisted(); }
  bool is_helper() const { return static_cast<bool>(setup.on_empty); }
  /// Returns whether another process delivers messages from this queue's files.
  bool is_read_elsewhere() const { return disk != nullptr && !setup.consumer && !is_helper(); }

  EngineSetup setup;
  std::unique_ptr<Store> store;
  DiskStore* disk = nullptr;  // the store of a disk queue, otherwise null

  mutable Mutex mutex;
  Condition pause;              // for workers that have to wait although they have work
  Condition room;               // for producers: space might be available
  Condition quiet;              // for threads that wait until a worker, batch or group finishes
  std::uint64_t in_flight = 0;  // number of messages in delivery
  std::atomic<std::uint64_t> undelivered{0};  // read without the mutex
  std::size_t high_watermark = 0;
  std::size_t low_watermark = 0;
  bool has_notified_empty = false;  // for a helper: whether its owner was notified
  bool is_enqueue_only = false;     // new consumers are not started
  bool is_assisted = false;         // messages go through the helper
  std::shared_ptr<Engine> helper;
  /// Messages that consumers did not finish before the shutdown. They are older than the messages
  /// of the helper.
  std::vector<Message> earlier;
  bool is_closing = false;
};

}  // namespace quarry::spool
