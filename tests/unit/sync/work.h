// How much work SQLite does, counted instead of timed: the steps of its virtual machine, over all
// statements of all connections that are opened while this lives.
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
