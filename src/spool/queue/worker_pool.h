// The threads that deliver a queue's messages, and the one that shuffles them to the disk. Every
// call is made, and every member is read, under the queue's mutex.
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
  /// It ends when its consumer is done with what it has.
  bool is_retired = false;
  /// Its consumer does not end: what it has was given to others, and it is to touch nothing.
  bool is_left = false;
  bool is_consuming = false;
  /// What its consumer has, and how much of it is done with.
  Batch batch;
  std::size_t delivered = 0;
  /// Asks its consumer to end.
  std::stop_source stop;
  Thread thread;
};

class WorkerPool {
 public:
  /// MAIN runs in each worker's thread, and sets its state. MOST workers at a time.
  WorkerPool(std::function<void(Worker&)> main, std::size_t max)
      : main_(std::move(main)), max_(max) {}

  /// Starts workers until there are WANTED, or as many as there may be. False: a thread could not
  /// be started.
  bool advise(std::size_t wanted);
  void set_max(std::size_t max) { max_ = max; }
  /// Those that have not ended; none that was left behind.
  std::size_t alive() const;
  bool any_starting() const;
  /// They end as soon as they are done with what they have (or, with false, do not).
  void retire(bool retired = true);
  void request_stop();
  /// Those whose consumers run, which will be alive no more: they go on for ever.
  std::vector<std::shared_ptr<Worker>> leave_consuming();
  /// Waits for the threads that have ended.
  void join_ended();

 private:
  std::function<void(Worker&)> main_;
  std::size_t max_;
  std::vector<std::shared_ptr<Worker>> workers_;
};

}  // namespace quarry::spool
