// One queue object: a store, the workers that deliver from it, and, for a queue in memory that is
// disk-assisted, the disk queue that helps it (another Engine) and the worker that shuffles
// messages there. The queue class of the public header is a handle on the first of them.
//
//   engine.cc           messages come
//   delivery.cc         workers take them to the consumer
//   disk_assistance.cc  disk-assisted mode: into it, through it, out of it
//   ending.cc           the queue's end
//
// All state is guarded by one mutex. It is not held while a consumer runs, nor while messages are
// written to the disk. A helper's may be taken under its owner's, never the other way round.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "disk_store.h"
#include "figures.h"
#include "quarry/spool/dequeue_window.h"
#include "quarry/spool/queue.h"
#include "store.h"
#include "threading.h"
#include "worker_pool.h"

namespace quarry::spool {

/// Where the worker that shuffles messages to the disk is.
enum class DaPlace : std::uint8_t {
  kNone,            // there is no such worker
  kAtWork,          // it may not wait at all
  kAtLowWatermark,  // it waits for the high water mark, or that the disk queue is empty
  kOnEmptyQueue,    // it waits for a message
  kOnFullDisk,      // it waits for room on the disk
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  struct Setup {
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
  explicit Engine(Setup setup);
  /// To be called once, after the constructor: delivers what is there. FOUND: on the disk there is
  /// something for a queue in memory.
  void start(bool found);

  std::size_t enqueue(std::span<Message> messages, Delay delay, base::Error* error);
  static std::size_t count_good(std::size_t most, std::span<const Message> messages,
                                base::Error* error);
  Ending shut_down();
  bool wait_until_empty(milliseconds timeout);

  // --- of a disk queue that helps another
  // ---------------------------------------------------------

  /// Everything was delivered.
  bool is_empty() const {
    step();
    return undelivered_.load(std::memory_order_acquire) == 0;
  }
  /// At most so many consumers from now on.
  void set_most_workers(std::size_t most);
  /// No consumer is begun any more.
  void enqueue_only();
  /// Ends an empty queue and removes its files.
  base::Result<void> destroy();
  /// Puts MESSAGES, which were taken before all others, before them.
  std::size_t push_front(std::span<Message> messages, base::Error* error);

  DaPlace da_place() const;

 private:
  struct Waiting;  // a producer of a disk queue

  // --- engine.cc
  bool wait_until_ready(Lock& lock, TimePoint deadline, const std::function<bool()>& is_ready);
  bool wait_for_room(Lock& lock, const Message& message, Delay delay, base::Error* error);
  std::uint64_t fullness() const;
  void look_for_progress();
  void help_reader_on();
  std::size_t room(Delay delay) const;
  std::size_t room_for(Delay delay) const;
  std::size_t enqueue_to_memory(std::span<Message> messages, Delay delay, base::Error* error);
  std::size_t enqueue_to_disk(std::span<Message> messages, Delay delay, base::Error* error);
  bool write(Waiting& one);
  std::size_t push_together(Lock& lock, std::span<Message> messages, base::Error* error);
  void push_group(Lock& lock);
  void messages_came();
  void count();
  /// Bytes of a message. Where a consumer is near, memory delivers what the disk has no room for.
  std::size_t most_content() const {
    const bool must_fit = disk_ != nullptr || !setup_.consumer;
    return must_fit ? spool::most_content(setup_.options) : kMostContent;
  }
  /// Another process delivers what this queue puts on the disk.
  bool is_read_elsewhere() const { return disk_ != nullptr && !setup_.consumer && !is_helper(); }
  bool is_helper() const { return static_cast<bool>(setup_.on_empty); }
  std::uint64_t held() const { return store_->waiting() + in_flight_; }
  void report(const std::string& line) const { setup_.reporter(line); }

  // --- delivery.cc
  void worker_main(Worker& self);
  bool wait_for_work(Lock& lock);
  bool is_window_open() const;
  void wait_for_window(Lock& lock, const Worker& self);
  bool wants_more(const Worker& self) const;
  void wait_for_more(Lock& lock, Worker& self);
  void discard_queued(Batch& batch, std::uint64_t full);
  void deliver(Lock& lock, Worker& self);
  Delivery consume(const Worker& self);
  void pause(Lock& lock, const Worker& self, const Delivery& delivery, bool was_closing);
  bool settle(Worker& self, const Delivery& delivery);
  void put_back(Batch batch, std::size_t delivered);
  void advise_workers();
  void tell_empty(Lock& lock);
  void worker_ended(Worker& self);

  // --- disk_assistance.cc
  bool is_da_enabled() const { return setup_.options.is_disk_assisted(); }
  void start_da();
  void da_worker_main(Worker& self);
  bool make_helper(Lock& lock);
  bool is_da_over() const;
  bool switch_back(Lock& lock);
  void leave_da();
  void start_da_worker();
  void wait_at_low_watermark(Lock& lock);
  bool wait_on_empty_queue(Lock& lock);
  void shuffle(Lock& lock, Worker& self);
  void share_workers();
  void helper_is_empty();

  // --- ending.cc
  void stop_workers(Lock& lock);
  void take_back(Worker& left);
  void end_plainly(Lock& lock);
  void end_disk_assisted(Lock& lock);
  void drain_to_disk(Lock& lock);
  void end_helper(Lock& lock);

  Setup setup_;
  DiskStore* disk_ = nullptr;  // store_, of a disk queue
  std::unique_ptr<Store> store_;

  mutable Mutex mutex_;
  Condition work_;         // for idle workers: messages, or the end
  Condition pause_;        // for workers that have work, and wait: the end, or enough for a batch
  Condition da_;           // for the worker that shuffles: anything that it may wait for
  Condition room_;         // for producers: the queue is less full
  Condition quiet_;        // for those who wait that something ends: a worker, a batch, a group
  std::size_t idle_ = 0;   // workers that wait for work
  std::size_t woken_ = 0;  // of them, those that do not know yet that there is some
  std::size_t gathering_ = 0;    // workers that wait for a larger batch
  std::uint64_t in_flight_ = 0;  // messages that consumers have
  std::atomic<std::uint64_t> undelivered_{0};
  std::size_t high_watermark_ = 0;
  std::size_t low_watermark_ = 0;
  WorkerPool workers_;
  bool is_told_empty_ = false;
  bool is_enqueue_only_ = false;

  // Producers of a disk queue: one writes for all that wait.
  std::deque<Waiting*> group_;
  bool is_writing_ = false;

  // Disk-assisted mode.
  bool has_files_ = false;  // found at the start, and not opened yet
  bool is_da_ = false;
  std::optional<base::Error> disk_is_gone_;  // its files were removed
  std::uint64_t left_at_last_look_ = 0;      // for another process to deliver
  TimePoint stuck_since_{};
  bool has_da_failed_ = false;  // the disk cannot be used: told once
  TimePoint next_da_{};         // after a failure, not before
  bool is_refused_ = false;     // the disk takes nothing, and has nothing
  bool is_held_ = false;        // the low water mark was reached
  DaPlace da_place_ = DaPlace::kNone;
  WorkerPool da_worker_;  // of one
  std::shared_ptr<Engine> helper_;
  std::vector<Message> earlier_;  // left by consumers at the end, before what the helper has

  bool is_closing_ = false;
  bool is_ended_ = false;
  Ending ending_;
};

}  // namespace quarry::spool
