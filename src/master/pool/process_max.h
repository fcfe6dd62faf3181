// process.max: the workers of all pools together stay within a bound, whatever the pools would
// have. Fronts, observers and what runs beside the pools are not among them: they have to tell that
// a pool is kept short, or do what else was asked of them.
//
// It is told of each worker that begins and ends. Those of earlier generations, which finish, are
// beyond it for a while.
#pragma once

#include <cstddef>

namespace quarry::master {

class ProcessMax {
 public:
  /// LIMIT workers at a time; 0: no bound.
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
