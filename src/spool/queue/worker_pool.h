// The threads that deliver messages, and the one that moves messages to disk. The queue's mutex
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
  /// It ends after its current batch.
  bool is_retired = false;
  /// It was abandoned because its consumer does not stop. Its batch was taken back, and it must not
  /// touch anything.
  bool is_left = false;
  bool is_consuming = false;
  /// Its current batch, and how much of it is delivered.
  Batch batch;
  std::size_t delivered = 0;
  /// Asks its consumer to stop.
  std::stop_source stop;
  Thread thread;
};

class WorkerPool {
 public:
  /// MAIN runs in each worker's thread and sets its state. At most MAX workers exist at the same
  /// time.
  WorkerPool(std::function<void(Worker&)> main, std::size_t max)
      : main_(std::move(main)), max_(max) {}

  /// Starts workers until there are WANTED or the maximum. Returns false if a thread cannot be
  /// started.
  bool advise(std::size_t wanted);
  void set_max(std::size_t max) { max_ = max; }
  /// Returns the number of workers that have neither ended nor been abandoned.
  std::size_t alive() const;
  bool any_starting() const;
  /// Makes workers end after their current batch or, with false, cancels that.
  void retire(bool retired = true);
  void request_stop();
  /// Abandons workers whose consumers are running; they are no longer counted as alive.
  std::vector<std::shared_ptr<Worker>> leave_consuming();
  /// Joins threads that have ended.
  void join_ended();

 private:
  std::function<void(Worker&)> main_;
  std::size_t max_;
  std::vector<std::shared_ptr<Worker>> workers_;
};

}  // namespace quarry::spool
