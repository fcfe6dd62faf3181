// Workers: they take batches from the store to the consumer until there is nothing left, wait a while
// for more, and end. Every call is made under the engine's mutex.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "engine_state.h"
#include "quarry/spool/queue.h"
#include "threading.h"
#include "worker_pool.h"

namespace quarry::spool {

class DeliveryWorkers {
 public:
  /// What an engine is told, and asked for.
  struct Owner {
    /// Keeps all of it there for as long as a worker runs: one that is left behind outlives the
    /// queue.
    std::function<std::shared_ptr<void>()> keep;
    /// A worker has ended.
    std::function<void()> on_end;
  };
  /// STATE is not owned, and outlives this.
  DeliveryWorkers(EngineState& state, Owner owner);

  /// Sees to it that there are enough of them for what waits.
  void advise();
  /// At most so many from now on.
  void set_max(std::size_t max) { pool_.set_max(max); }
  /// All end as soon as they are done with what they have.
  void retire();
  /// They need not, and others may begin.
  void come_back();
  /// Those that are idle look again.
  void wake() { work_.notify_all(); }
  std::size_t alive() const { return pool_.alive(); }
  bool any_starting() const { return pool_.any_starting(); }
  /// Waits for the threads that have ended.
  void join_ended() { pool_.join_ended(); }

  /// It is the time of the day to deliver messages, or the last moment: what ends without a disk has
  /// no other.
  bool is_window_open() const;
  /// At the end: ends all of them, with what their consumers have just now. Returns how many do not
  /// end and are left behind.
  std::size_t stop(Lock& lock);

 private:
  void run(Worker& self);
  bool wait_for_work(Lock& lock);
  void wait_for_window(Lock& lock, const Worker& self);
  bool wants_more(const Worker& self) const;
  void wait_for_more(Lock& lock, Worker& self);
  void discard_queued(Batch& batch, std::uint64_t full);
  void deliver(Lock& lock, Worker& self);
  Delivery consume(const Worker& self);
  void pause(Lock& lock, const Worker& self, const Delivery& delivery, bool was_closing);
  bool settle(Worker& self, const Delivery& delivery);
  void put_back(Batch batch, std::size_t delivered);
  void take_back(Worker& left);
  void notify_empty(Lock& lock);
  void ended(Worker& self);

  EngineState& state_;
  Owner owner_;
  Condition work_;             // for idle workers: messages, or the end
  std::size_t idle_ = 0;       // workers that wait for work
  std::size_t woken_ = 0;      // of them, those that do not know yet that there is some
  std::size_t gathering_ = 0;  // workers that wait for a larger batch
  WorkerPool pool_;
};

}  // namespace quarry::spool
