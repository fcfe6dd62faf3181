// Monitors the lock bytes of connections and reports violations of the two rules in
// wal_lock_rules.h. Also defines a VFS that forwards to another VFS and reports lock requests.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/wal_lock_rules.h"

namespace quarry::repository::test {

/// Monitors the locks of up to 16 connections to one file. Report only granted locks to it.
class LockMonitor {
 public:
  /// Adds a connection and returns its number. A GUARDED connection must follow the rules.
  std::size_t add(bool guarded);
  void exclusively(std::size_t who, LockBytes bytes);
  void unlocked(std::size_t who, LockBytes bytes);
  /// Removes all locks of a connection, for example when it is closed.
  void forgotten(std::size_t who);

  /// Returns a description of the first violation, or an empty string.
  const std::string& breach() const { return breach_; }
  /// Returns how often the log was reset while a checkpoint copied it. The rules prevent this for
  /// guarded connections.
  std::uint64_t harm() const { return harm_; }
  std::uint64_t copies() const { return copies_; }
  std::uint64_t resets() const { return resets_; }

 private:
  struct Connection {
    bool is_guarded = false;
    unsigned held = 0;
    bool is_in_checkpoint = false;  // until the frames are copied
    bool has_copied = false;
    bool was_reset = false;          // another connection has reset the log
    bool was_reset_guarded = false;  // the resetting connection was guarded
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

/// A VFS that reports lock requests for the shared memory of all main databases.
class WatchedVfs : public sqlite3_vfs {
 public:
  explicit WatchedVfs(const char* name);
  ~WatchedVfs();
  WatchedVfs(const WatchedVfs&) = delete;
  WatchedVfs& operator=(const WatchedVfs&) = delete;

  struct Call {
    LockBytes bytes;
    int flags;
    int code;  // result code
  };
  std::function<void(sqlite3_file*, const Call&)> on_lock;
  /// Called after a checkpoint has read a changed header of the log, and before the checkpoint
  /// checks how many frames are already copied. At this point, SQLite unmaps the pages of the
  /// database file.
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
