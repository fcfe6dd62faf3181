// What the parts of a queue's engine share: its parameters, its store, and where everything is. All
// of it is guarded by one mutex, but for what says otherwise. The mutex is not held while a consumer
// runs, nor while messages are written to the disk. A helper's may be taken under its owner's, never
// the other way round.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "disk_store.h"
#include "figures.h"
#include "quarry/spool/dequeue_window.h"
#include "quarry/spool/queue.h"
#include "store.h"
#include "threading.h"

namespace quarry::spool {

class Engine;

/// What an engine is made of.
struct EngineSetup {
  QueueOptions options;  // complete
  Consumer consumer;
  Reporter reporter;
  std::shared_ptr<Figures> figures;
  SpoolFiles files;
  /// Of a disk queue.
  std::unique_ptr<DiskStore> disk;
  /// Of the disk queue that helps another: called, without its mutex, when it has become empty.
  std::function<void()> on_empty;
  LocalClock local_time = spool::local_time;
};

struct EngineState {
  explicit EngineState(EngineSetup given);

  /// In the store, and with consumers.
  std::uint64_t held() const { return store->waiting() + in_flight; }
  /// What the marks are held against.
  std::uint64_t fullness() const;
  /// Brings the figures up to date.
  void count();
  /// Where another process delivers, fullness() is what that was at the last look: this looks.
  void refresh_progress();
  void report(const std::string& line) const { setup.reporter(line); }

  bool is_da_enabled() const { return setup.options.is_disk_assisted(); }
  bool is_helper() const { return static_cast<bool>(setup.on_empty); }
  /// Another process delivers what this queue puts on the disk.
  bool is_read_elsewhere() const { return disk != nullptr && !setup.consumer && !is_helper(); }

  EngineSetup setup;
  std::unique_ptr<Store> store;
  DiskStore* disk = nullptr;  // the store, of a disk queue

  mutable Mutex mutex;
  Condition pause;                            // for workers that have work, and wait
  Condition room;                             // for producers: the queue is less full
  Condition quiet;                            // for who waits that a worker, batch or group ends
  std::uint64_t in_flight = 0;                // messages that consumers have
  std::atomic<std::uint64_t> undelivered{0};  // read without the mutex
  std::size_t high_watermark = 0;
  std::size_t low_watermark = 0;
  bool has_notified_empty = false;  // of a helper: its owner knows that nothing is left
  bool is_enqueue_only = false;     // no consumer is begun any more
  bool is_assisted = false;         // messages go to the disk queue that helps, and come from it
  std::shared_ptr<Engine> helper;
  std::vector<Message> earlier;  // left by consumers at the end, before what the helper has
  bool is_closing = false;
};

// Both with each message that comes: so that they are not called for it.

inline void EngineState::count() {
  const std::uint64_t all = held();
  step();
  undelivered.store(all, std::memory_order_release);
  if (disk == nullptr) {
    setup.figures->set_size(all);
    return;
  }
  // Who only writes does not know what is delivered: what there may be.
  setup.figures->on_disk = setup.consumer ? all : disk->unsettled();
  setup.figures->disk_bytes = disk->bytes();
}

/// With disk assistance what consumers have counts no more: they may keep it for long, and the high
/// water mark has to be within reach then.
inline std::uint64_t EngineState::fullness() const {
  if (is_read_elsewhere()) return disk->unsettled();
  return is_da_enabled() ? store->waiting() : held();
}

}  // namespace quarry::spool
