// The checkpoint barrier (checkpoint_barrier.h) that the workers of a pool share on the pool's
// scoreboard. If a worker is killed while it has raised the barrier, the barrier is lowered when
// the worker's lease expires (leases.h).
#pragma once

#include "quarry/repository/checkpoint_barrier.h"
#include "quarry/scoreboard/leases.h"

namespace quarry::worker {

class PoolCheckpointBarrier : public repository::CheckpointBarrier {
 public:
  /// Creates the barrier. wait() returns after LONGEST_WAIT at the latest, even if another process
  /// has corrupted the scoreboard.
  explicit PoolCheckpointBarrier(scoreboard::Leases leases, std::chrono::milliseconds longest_wait =
                                                                std::chrono::milliseconds(500))
      : leases_(leases), longest_wait_(longest_wait) {}

  bool raise(std::uint64_t file, std::chrono::milliseconds timeout) override;
  void lower(std::uint64_t file, std::chrono::milliseconds pause) override;
  void wait(std::uint64_t file) override;

 private:
  scoreboard::Leases leases_;
  std::chrono::milliseconds longest_wait_;
  scoreboard::Lease raised_;
};

}  // namespace quarry::worker
