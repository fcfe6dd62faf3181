// The threads, mutexes and conditions of the queue, all in one place: the test that explores every
// interleaving compiles the same sources with threads that a scheduler moves step by step
// (tests/unit/spool/scheduled_threading.h).
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

/// Another thread may get in here, between two things that are each indivisible without a mutex.
inline void step() {}

}  // namespace quarry::spool

#endif

namespace quarry::spool {

using Lock = std::unique_lock<Mutex>;

/// When TIME will have passed; the greatest duration never does.
inline TimePoint after(std::chrono::milliseconds time) {
  using std::chrono::milliseconds;
  const TimePoint start = now();
  const auto max = std::chrono::duration_cast<milliseconds>(TimePoint::max() - start);
  return time < max ? start + time : TimePoint::max();
}

}  // namespace quarry::spool
