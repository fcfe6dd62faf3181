// A counter of events that a thread can wait on: it wakes at the first of several events that may
// come, and misses none that comes between its last look and its wait.
#pragma once

#include <cstdint>

#include "threading.h"

namespace quarry::spool {

class EventCount {
 public:
  void notify() {
    const Lock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  /// Events so far. Read it before checking whether there is anything to wait for.
  std::uint64_t count() const {
    const Lock lock(mutex_);
    return count_;
  }
  /// Waits until an event has come since count() was BEFORE, or until UNTIL.
  void wait(std::uint64_t before, TimePoint until) {
    Lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return count_ != before; });
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  std::uint64_t count_ = 0;
};

}  // namespace quarry::spool
