// State that the parts of the master share, and the limit on workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace quarry::master {

/// All parts read it, and only the loop changes it.
struct MasterState {
  std::uint64_t generation = 1;  // 1 for the first start
  std::chrono::milliseconds process_control_timeout{0};
  bool is_ready = false;   // all services have been started
  bool is_running = true;  // the master is not stopping
};

/// Implements process.max, which limits the workers of all pools together, in addition to each
/// pool's own limit.
///
/// Fronts, observers and other services do not count, so that they keep working when the limit is
/// reached. Workers of earlier generations that are finishing do not count either.
class ProcessMax {
 public:
  /// LIMIT: maximum number of workers at the same time; 0: unlimited.
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
