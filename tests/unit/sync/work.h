// Measures SQLite's work in virtual machine steps instead of time, over all statements of all
// connections opened during its lifetime.
#pragma once

#include <cstdint>

namespace quarry::sync {

class CountedWork {
 public:
  CountedWork();
  ~CountedWork();
  CountedWork(const CountedWork&) = delete;
  CountedWork& operator=(const CountedWork&) = delete;

  /// Steps since the last call.
  std::int64_t take();
};

}  // namespace quarry::sync
