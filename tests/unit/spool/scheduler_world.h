// Shared by the tests of the scheduler.
#pragma once

#include <string>

#include "scheduled_threading.h"

namespace quarry::spool {

inline schedule::Bounds preemptions(int count) {
  schedule::Bounds bounds;
  bounds.preemptions = count;
  return bounds;
}

inline schedule::Bounds timeouts(int count) {
  schedule::Bounds bounds;
  bounds.timeouts = count;
  return bounds;
}

inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline void steps(int count) {
  for (int i = 0; i < count; ++i) step();
}

struct Flag {
  Mutex mutex;
  Condition changed;
  bool set = false;
};

}  // namespace quarry::spool
