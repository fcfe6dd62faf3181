// The engine of a queue: a store and its operations. The public class Queue is a handle on an
// engine. The disk queue that helps a queue in memory is another engine.
//
//   Intake           enqueues messages                                    intake.h
//   DeliveryWorkers  deliver messages to the consumer                     delivery.h
//   DiskAssistance   disk-assisted mode                                   disk_assistance.h
//   Engine           shutdown, and the operations of a helper
//
// The parts share the state in engine_state.h, under one mutex.
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
  explicit Engine(EngineSetup setup);
  /// Starts delivery. Called once, after the constructor. FOUND says whether a queue in memory has
  /// files from an earlier run.
  void start(bool found);

  std::size_t enqueue(std::span<Message> messages, Delay delay, Error* error) {
    return intake_.enqueue(messages, delay, error);
  }
  Ending shut_down();
  bool wait_until_empty(milliseconds timeout);

  // --- for a disk queue that is a helper

  /// Returns whether all messages were delivered.
  bool is_empty() const {
    step();
    return state_.undelivered.load(std::memory_order_acquire) == 0;
  }
  /// Sets the maximum number of consumers.
  void set_max_workers(std::size_t max);
  /// Prevents new consumers from starting.
  void enqueue_only();
  /// Ends an empty queue and removes its files.
  Result<void> destroy();
  /// Adds MESSAGES at the front, because these messages precede all others.
  std::size_t push_front(std::span<Message> messages, Error* error);

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
