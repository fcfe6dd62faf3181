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
  /// MOST workers at a time; 0: no bound.
  explicit ProcessMax(std::size_t most) : most_(most) {}

  std::size_t most() const { return most_; }
  bool has_room() const { return most_ == 0 || alive_ < most_; }
  void started() { ++alive_; }
  void ended() { --alive_; }

 private:
  std::size_t most_;
  std::size_t alive_ = 0;
};

}  // namespace quarry::master
