// Checks that connections follow the two rules of wal_lock_rules.h, by watching the lock bytes that
// they hold. Also defines a VFS that wraps another one and reports its results.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/wal_lock_rules.h"

namespace quarry::repository::test {

/// Watches up to 16 connections to one file. Call it for granted locks only.
class LockMonitor {
 public:
  /// Adds a connection and returns its number. GUARDED connections must follow the rules.
  std::size_t add(bool guarded);
  void exclusively(std::size_t who, LockBytes bytes);
  void unlocked(std::size_t who, LockBytes bytes);
  /// All locks of the connection were released, as when it is closed.
  void forgotten(std::size_t who);

  /// A description of the first broken rule, or empty.
  const std::string& breach() const { return breach_; }
  /// The number of resets of the log during a checkpoint of an unguarded connection that continued
  /// to copy. The rules prevent this.
  std::uint64_t harm() const { return harm_; }
  std::uint64_t copies() const { return copies_; }
  std::uint64_t resets() const { return resets_; }

 private:
  struct Connection {
    bool is_guarded = false;
    unsigned held = 0;
    bool is_in_checkpoint = false;  // until the frames are copied
    bool has_copied = false;
    bool was_reset = false;          // by another connection since the checkpoint began
    bool was_reset_guarded = false;  // by a guarded connection
  };
  void check_copy(Connection& connection);
  void check_reset(std::size_t who);
  void report(const std::string& what);

  std::vector<Connection> connections_;
  std::string breach_;
  std::uint64_t harm_ = 0;
  std::uint64_t copies_ = 0;
  std::uint64_t resets_ = 0;
};

/// Reports shared-memory locks of each main database that is opened through it.
class WatchedVfs : public sqlite3_vfs {
 public:
  explicit WatchedVfs(const char* name);
  ~WatchedVfs();
  WatchedVfs(const WatchedVfs&) = delete;
  WatchedVfs& operator=(const WatchedVfs&) = delete;

  struct Call {
    LockBytes bytes;
    int flags;
    int code;  // the result
  };
  std::function<void(sqlite3_file*, const Call&)> on_lock;
  /// Called when a checkpoint has read a changed header of the log and has not yet checked how far
  /// others have copied. SQLite unmaps its pages at this point.
  std::function<void(sqlite3_file*)> on_header_read;

 private:
  struct File {
    sqlite3_io_methods methods;
    const sqlite3_io_methods* below;
    WatchedVfs* vfs;
  };
  static File& file_of(sqlite3_file* file);
  sqlite3_vfs* below_;
};

}  // namespace quarry::repository::test
