// Wakes who waits for one of several things to happen, whichever comes first.
#pragma once

#include <cstdint>

#include "threading.h"

namespace quarry::spool {

class Bell {
 public:
  void ring() {
    const Lock lock(mutex_);
    ++rung_;
    changed_.notify_all();
  }
  /// How often it was rung. Who reads this, looks whether he has to wait, and then waits, misses
  /// nothing.
  std::uint64_t rung() const {
    const Lock lock(mutex_);
    return rung_;
  }
  /// Waits until it was rung more often than BEFORE, or UNTIL.
  void wait(std::uint64_t before, TimePoint until) {
    Lock lock(mutex_);
    changed_.wait_until(lock, until, [&] { return rung_ != before; });
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  std::uint64_t rung_ = 0;
};

}  // namespace quarry::spool
