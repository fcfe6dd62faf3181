// Lets a checkpoint empty the write-ahead log although several processes use the repository. SQLite
// can empty the log only while no connection reads from it, so the process that runs the checkpoint
// raises the barrier, and the others wait before they begin a transaction.
//
// The barrier is best effort: other programs may use the file too, and the process that raised the
// barrier may die. So every wait has a timeout, and ignoring the barrier does no harm.
#pragma once

#include <chrono>
#include <cstdint>

namespace quarry::repository {

class CheckpointBarrier {
 public:
  virtual ~CheckpointBarrier() = default;

  /// Makes other users of FILE, a number that identifies it, wait before they begin a transaction,
  /// until lower() or for at most TIMEOUT. Returns false if the barrier is already raised, or if
  /// the pause set by lower() has not ended yet.
  virtual bool raise(std::uint64_t file, std::chrono::milliseconds timeout) = 0;
  /// Call after a raise() that returned true. The barrier cannot be raised again for PAUSE.
  virtual void lower(std::uint64_t file, std::chrono::milliseconds pause) = 0;
  /// Waits while another connection has raised the barrier. Costs almost nothing if the barrier is
  /// not raised.
  virtual void wait(std::uint64_t file) = 0;
};

}  // namespace quarry::repository
