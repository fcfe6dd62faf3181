// An event count: a thread can check several conditions and then wait for an event, without missing
// one that occurs in between.
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
  /// The number of events so far. Read it before checking the conditions.
  std::uint64_t count() const {
    const Lock lock(mutex_);
    return count_;
  }
  /// Waits until count() differs from BEFORE, or until UNTIL.
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
