// Lets a checkpoint empty the write-ahead log although several processes use the repository. SQLite
// can empty the log only while no connection reads from it. Therefore, the process that runs the
// checkpoint raises the barrier, and the other processes wait before they begin a transaction.
//
// The barrier is only an optimization: other programs do not use it, and the process that raised it
// might crash. Therefore, every wait has a timeout, and ignoring the barrier does no harm.
#pragma once

#include <chrono>
#include <cstdint>

namespace quarry::repository {

class CheckpointBarrier {
 public:
  virtual ~CheckpointBarrier() = default;

  /// Makes other processes that use FILE (a number that identifies the file) wait before they begin
  /// a transaction. The processes wait until lower() is called, but for at most TIMEOUT. Returns
  /// false if the barrier is already raised, or if the pause set by lower() has not ended yet.
  virtual bool raise(std::uint64_t file, std::chrono::milliseconds timeout) = 0;
  /// Lowers the barrier. Call it after raise() has returned true. The barrier cannot be raised
  /// again for PAUSE.
  virtual void lower(std::uint64_t file, std::chrono::milliseconds pause) = 0;
  /// Waits while another connection has raised the barrier. Takes almost no time if the barrier is
  /// not raised.
  virtual void wait(std::uint64_t file) = 0;
};

}  // namespace quarry::repository
