// Simulated connections, and a table of locks in memory. The connections request a log's lock
// bytes in the same order as SQLite.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "lock_monitor.h"
#include "store/wal_lock_rules.h"

namespace quarry::repository::test {

/// Returns the number in the environment variable NAME, or OTHERWISE if it is not set.
std::uint64_t from_environment(const char* name, std::uint64_t otherwise);

/// A table of lock bytes that behaves like the kernel. Each connection counts as a process.
class LockTable {
 public:
  explicit LockTable(LockMonitor& monitor) : monitor_(monitor) {}

  void add() { held_.emplace_back(); }
  int lock(std::size_t who, LockBytes bytes, bool exclusive) {
    for (std::size_t other = 0; other < held_.size(); ++other) {
      if (other == who) continue;
      if ((held_[other].exclusive & bytes.mask()) != 0) return SQLITE_BUSY;
      if (exclusive && (held_[other].shared & bytes.mask()) != 0) return SQLITE_BUSY;
    }
    (exclusive ? held_[who].exclusive : held_[who].shared) |= bytes.mask();
    if (exclusive) monitor_.exclusively(who, bytes);
    return SQLITE_OK;
  }
  void unlock(std::size_t who, LockBytes bytes) {
    held_[who].exclusive &= ~bytes.mask();
    held_[who].shared &= ~bytes.mask();
    monitor_.unlocked(who, bytes);
  }
  unsigned exclusive(std::size_t who) const { return held_[who].exclusive; }

 private:
  struct Held {
    unsigned exclusive = 0;
    unsigned shared = 0;
  };
  LockMonitor& monitor_;
  std::vector<Held> held_;
};

/// A connection's operation on the lock bytes.
struct LockStep {
  enum class Kind { kShared, kExclusive, kUnlock };
  Kind kind;
  LockBytes bytes;
  /// The step is skipped unless the connection holds all of these bytes.
  unsigned needs = 0;
  /// If true and the bytes are busy, the rest of the script is skipped except for unlocking.
  bool gives_up = false;
};

/// A connection that randomly reads, writes, makes checkpoints and recovers.
class ScriptedConnection {
 public:
  /// Opens a file through VFS.
  ScriptedConnection(sqlite3_vfs& vfs, std::uint64_t seed);

  void step();
  bool is_between() const { return next_ == script_.size() && held_ == 0; }

 private:
  sqlite3_file* file() { return reinterpret_cast<sqlite3_file*>(memory_.data()); }
  void begin();
  void unlock(LockBytes bytes);

  std::minstd_rand random_;
  std::vector<std::max_align_t> memory_;
  std::vector<LockStep> script_;
  std::size_t next_ = 0;
  unsigned held_ = 0;       // bytes for which SQLite holds a lock
  unsigned exclusive_ = 0;  // bytes with an exclusive lock
  bool has_given_up_ = false;
};

}  // namespace quarry::repository::test
