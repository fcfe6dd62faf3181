// process.max: limits the workers of all pools together, in addition to each pool's own limit.
// Fronts, observers and other services do not count, so that they keep working when the limit is
// reached.
//
// Workers of earlier generations that are finishing do not count either.
#pragma once

#include <cstddef>

namespace quarry::master {

class ProcessMax {
 public:
  /// LIMIT: concurrent workers; 0: unlimited.
  explicit ProcessMax(std::size_t limit) : limit_(limit) {}

  std::size_t limit() const { return limit_; }
  bool has_room() const { return limit_ == 0 || alive_ < limit_; }
  void started() { ++alive_; }
  void ended() { --alive_; }

 private:
  std::size_t limit_;
  std::size_t alive_ = 0;
};

}  // namespace quarry::master
