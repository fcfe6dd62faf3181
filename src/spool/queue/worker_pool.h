// The threads that deliver messages, and the thread that moves messages to disk. The queue's mutex
// must be locked for all functions and members.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "store.h"
#include "threading.h"

namespace quarry::spool {

struct Worker {
  enum class State : std::uint8_t { kStarting, kRunning, kEnded };
  State state = State::kStarting;
  /// Whether the worker has to stop after its current batch.
  bool is_retired = false;
  /// Whether the worker was abandoned because its consumer does not stop. The batch of an abandoned
  /// worker was taken back, and the worker must not access shared data.
  bool is_left = false;
  bool is_consuming = false;
  /// The current batch, and the number of its delivered messages.
  Batch batch;
  std::size_t delivered = 0;
  std::stop_source stop;
  Thread thread;
};

class WorkerPool {
 public:
  /// Creates the pool. MAIN runs in each worker's thread and sets the state of the worker. MAX
  /// limits the number of workers.
  WorkerPool(std::function<void(Worker&)> main, std::size_t max)
      : main_(std::move(main)), max_(max) {}

  /// Starts workers until their number is WANTED or the maximum. Returns false if a thread cannot
  /// be started.
  bool advise(std::size_t wanted);
  void set_max(std::size_t max) { max_ = max; }
  /// Returns the number of workers that have not stopped and were not abandoned.
  std::size_t alive() const;
  bool any_starting() const;
  /// Ends workers after their current batch. If RETIRED is false, cancels an earlier call.
  void retire(bool retired = true);
  void request_stop();
  /// Abandons workers with running consumers. Abandoned workers do not count in alive().
  std::vector<std::shared_ptr<Worker>> leave_consuming();
  /// Joins threads that have finished.
  void join_ended();

 private:
  std::function<void(Worker&)> main_;
  std::size_t max_;
  std::vector<std::shared_ptr<Worker>> workers_;
};

}  // namespace quarry::spool
