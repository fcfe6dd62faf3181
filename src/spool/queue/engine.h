// One queue object: a store, and what is done with it. The queue class of the public header is a
// handle on the first of them; the disk queue that helps it is another one.
//
//   Intake           messages come                                        intake.h
//   DeliveryWorkers  workers take them to the consumer                    delivery.h
//   DiskAssistance   disk-assisted mode: into it, through it, out of it   disk_assistance.h
//   Engine           the queue's end, and what its owner asks of a helper
//
// What they share is in engine_state.h, under one mutex.
#pragma once

#include <memory>
#include <span>

#include "delivery.h"
#include "disk_assistance.h"
#include "engine_state.h"
#include "intake.h"
#include "quarry/base/result.h"
#include "quarry/spool/queue.h"
#include "threading.h"

namespace quarry::spool {

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  using Setup = EngineSetup;
  explicit Engine(Setup setup);
  /// To be called once, after the constructor: delivers what is there. FOUND: on the disk there is
  /// something for a queue in memory.
  void start(bool found);

  std::size_t enqueue(std::span<Message> messages, Delay delay, base::Error* error) {
    return intake_.enqueue(messages, delay, error);
  }
  Ending shut_down();
  bool wait_until_empty(milliseconds timeout);

  // --- of a disk queue that helps another

  /// Everything was delivered.
  bool is_empty() const {
    step();
    return state_.undelivered.load(std::memory_order_acquire) == 0;
  }
  /// At most so many consumers from now on.
  void set_max_workers(std::size_t max);
  /// No consumer is begun any more.
  void enqueue_only();
  /// Ends an empty queue and removes its files.
  base::Result<void> destroy();
  /// Puts MESSAGES, which were taken before all others, before them.
  std::size_t push_front(std::span<Message> messages, base::Error* error);

  ShufflerState shuffler_state() const;

 private:
  void end_plainly(Lock& lock);
  void end_disk_assisted(Lock& lock);

  EngineState state_;
  DeliveryWorkers workers_;
  DiskAssistance assistance_;
  Intake intake_;
  bool is_ended_ = false;
  Ending ending_;
};

}  // namespace quarry::spool
