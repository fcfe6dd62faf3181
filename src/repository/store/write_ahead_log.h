// Decides when a connection runs a checkpoint. A checkpoint is run after the reply, never inside a
// commit, because a client is waiting for the commit.
//
//   above the limit       a FULL checkpoint without waiting. It can be incomplete because of active
//                         readers. After a complete checkpoint, the next writer restarts the log,
//                         unless a reader still uses it
//   above 8 times the     overlapping readers have prevented a restart. A TRUNCATE checkpoint
//   limit                 that waits briefly for readers, while the barrier makes new readers wait.
//                         If it fails, the next attempt is delayed
//   when idle             a TRUNCATE checkpoint without waiting, to leave an empty log
//
// A checkpoint holds the write lock (rule (a) of wal_lock_rules.h), so writers wait for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "database.h"
#include "quarry/repository/checkpoint_barrier.h"

namespace quarry::repository {

class WriteAheadLog {
 public:
  /// LIMIT is in bytes, and at least 64 KiB. DATABASE must outlive this object.
  WriteAheadLog(Database& database, std::size_t limit);
  WriteAheadLog(const WriteAheadLog&) = delete;
  WriteAheadLog& operator=(const WriteAheadLog&) = delete;

  /// Runs a checkpoint if the log is too long and this connection has committed since the last
  /// call. FILE is the number for BARRIER. Removes the database's busy handler. Throws SqliteError.
  void keep_short(CheckpointBarrier& barrier, std::uint64_t file);
  /// Truncates the log, and removes the busy handler. Returns false if the log is in use. Throws
  /// SqliteError.
  bool truncate();
  /// Returns the size, in bytes, above which the log is truncated even if readers have to wait.
  std::size_t hard_limit() const { return kHardLimitFactor * limit_; }
  /// Returns the size of the log after this connection's last commit, in bytes.
  std::size_t size();

 private:
  static constexpr std::size_t kHardLimitFactor = 8;

  static int committed(void* self, sqlite3* handle, const char* name, int frames);
  bool checkpoint(int mode);
  /// Returns whether another connection holds the write lock. The busy handler must not be set.
  bool is_being_written();
  void truncate_with_barrier(CheckpointBarrier& barrier, std::uint64_t file);

  Database& database_;
  std::size_t limit_;
  std::size_t frame_size_ = 0;  // 0 if not read yet
  std::size_t frames_ = 0;
  bool has_grown_ = false;
};

/// The barrier of a process that does not know the other users of the file. It does not make
/// readers wait; it only enforces the pause between two attempts.
class SingleProcessBarrier : public CheckpointBarrier {
 public:
  bool raise(std::uint64_t file, std::chrono::milliseconds timeout) override;
  void lower(std::uint64_t file, std::chrono::milliseconds pause) override;
  void wait(std::uint64_t file) override;

 private:
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace quarry::repository
