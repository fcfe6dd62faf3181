// The workers of a queue. A worker takes batches from the store and delivers them to the consumer.
// A worker stops after it has been idle for some time. All functions are called with the engine's
// mutex locked.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "engine_state.h"
#include "quarry/spool/queue.h"
#include "threading.h"
#include "worker_pool.h"

namespace quarry::spool {

/// Calls CONSUMER with BATCH. If CONSUMER throws an exception, reports the exception; no message
/// counts as delivered.
Delivery call(const Consumer& consumer, std::span<const Message> batch, const std::stop_token& stop,
              const Reporter& reporter);

class DeliveryWorkers {
 public:
  /// Callbacks of the engine.
  struct Owner {
    /// Returns a reference that keeps the engine alive while a worker runs, because an abandoned
    /// worker outlives the queue.
    std::function<std::shared_ptr<void>()> keep;
    /// Called when a worker has stopped.
    std::function<void()> on_end;
  };
  /// Creates the workers' object. STATE is not owned and must outlive this object.
  DeliveryWorkers(EngineState& state, Owner owner);

  /// Starts or wakes workers for the waiting messages.
  void advise();
  /// Sets the maximum number of workers.
  void set_max(std::size_t max) { pool_.set_max(max); }
  /// Ends all workers after their current batch.
  void retire();
  /// Reverses retire().
  void come_back();
  /// Wakes idle workers.
  void wake() { work_.notify_all(); }
  std::size_t alive() const { return pool_.alive(); }
  bool any_starting() const { return pool_.any_starting(); }
  void join_ended() { pool_.join_ended(); }

  /// Returns whether messages can be delivered at this time of day. Always true for a queue without
  /// files that is shutting down, because such a queue would otherwise lose its messages.
  bool is_window_open() const;
  /// Stops all workers at shutdown, including busy workers. Returns the number of abandoned
  /// workers, which did not stop.
  std::size_t stop(Lock& lock);

 private:
  void run(Worker& self);
  bool wait_for_work(Lock& lock);
  void wait_for_window(Lock& lock, const Worker& self);
  bool wants_more(const Worker& self) const;
  void wait_for_more(Lock& lock, Worker& self);
  void discard_queued(Batch& batch, std::uint64_t full);
  void deliver(Lock& lock, Worker& self);
  void pause(Lock& lock, const Worker& self, const Delivery& delivery, bool was_closing);
  bool settle(Worker& self, const Delivery& delivery);
  void put_back(Batch batch, std::size_t delivered);
  void take_back(Worker& left);
  void notify_empty(Lock& lock);
  void ended(Worker& self);

  EngineState& state_;
  Owner owner_;
  Condition work_;             // for idle workers: messages have arrived, or shutdown
  std::size_t idle_ = 0;       // workers waiting for work
  std::size_t woken_ = 0;      // idle workers that were notified but have not run yet
  std::size_t gathering_ = 0;  // workers that wait for a larger batch
  WorkerPool pool_;
};

}  // namespace quarry::spool
