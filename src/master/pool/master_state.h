// The shared state of the master's parts, and the limit on workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace quarry::master {

/// Only the loop changes the state; all other parts read it.
struct MasterState {
  std::uint64_t generation = 1;  // 1 for the first start
  std::chrono::milliseconds process_control_timeout{0};
  bool is_ready = false;   // all services have been started
  bool is_running = true;  // false while the master is stopping
};

/// Implements process.max, a limit on the workers of all pools. Each pool also has a separate
/// limit.
///
/// Fronts, observers and other services do not count, so they keep working when the limit is
/// reached. Workers of earlier generations do not count either.
class ProcessMax {
 public:
  /// Creates a limit of LIMIT workers at the same time; 0: unlimited.
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
