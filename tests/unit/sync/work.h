// Measures SQLite's work in steps of its virtual machine. Counts all statements of all
// connections that are opened during the lifetime of the object.
#pragma once

#include <cstdint>

namespace quarry::sync {

class CountedWork {
 public:
  CountedWork();
  ~CountedWork();
  CountedWork(const CountedWork&) = delete;
  CountedWork& operator=(const CountedWork&) = delete;

  /// Returns the number of steps since the last call.
  std::int64_t take();
};

}  // namespace quarry::sync
