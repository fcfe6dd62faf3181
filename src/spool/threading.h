// The queue's threads, mutexes and conditions. A test that explores all interleavings compiles the
// same sources with scheduled threads (tests/unit/spool/scheduled_threading.h).
#pragma once

#ifdef QUARRY_SPOOL_THREADING
#include QUARRY_SPOOL_THREADING
#else

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace quarry::spool {

using Mutex = std::mutex;
using Condition = std::condition_variable;
using Thread = std::thread;
using TimePoint = std::chrono::steady_clock::time_point;

inline TimePoint now() {
  return std::chrono::steady_clock::now();
}

/// A point between two atomic steps without a mutex. The test can switch threads here.
inline void step() {}

}  // namespace quarry::spool

#endif

namespace quarry::spool {

using Lock = std::unique_lock<Mutex>;

/// Returns the time point that is TIME from now. Returns the maximum if that is too far in the
/// future.
inline TimePoint after(std::chrono::milliseconds time) {
  using std::chrono::milliseconds;
  const TimePoint start = now();
  const auto max = std::chrono::duration_cast<milliseconds>(TimePoint::max() - start);
  return time < max ? start + time : TimePoint::max();
}

}  // namespace quarry::spool
