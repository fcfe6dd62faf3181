// Watches who holds which lock bytes of a write-ahead log's index, and what the two rules of
// wal_lock_rules.h say of it. And a VFS that tells it what the one below has answered.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/wal_lock_rules.h"

namespace quarry::repository::test {

/// Of up to 16 connections to one file. What is told is what was granted.
class LockMonitor {
 public:
  /// GUARDED: the rules hold for it.
  std::size_t add(bool guarded);
  void exclusively(std::size_t who, LockBytes bytes);
  void unlocked(std::size_t who, LockBytes bytes);
  /// Everything, as at a close.
  void forgotten(std::size_t who);

  /// The first breach, in words; "" while there is none.
  const std::string& breach() const { return breach_; }
  /// Resets in the middle of a checkpoint that went on copying, of connections without guard among
  /// themselves: what the rules are against.
  std::uint64_t harm() const { return harm_; }
  std::uint64_t copies() const { return copies_; }
  std::uint64_t resets() const { return resets_; }

 private:
  struct Connection {
    bool is_guarded = false;
    unsigned held = 0;
    bool is_in_checkpoint = false;  // until the frames are copied
    bool has_copied = false;
    bool was_reset = false;          // by another one since the checkpoint began
    bool was_reset_guarded = false;  // and that one has a guard
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

/// Tells of the shared memory's locks of each main database that is opened through it.
class WatchedVfs : public sqlite3_vfs {
 public:
  explicit WatchedVfs(const char* name);
  ~WatchedVfs();
  WatchedVfs(const WatchedVfs&) = delete;
  WatchedVfs& operator=(const WatchedVfs&) = delete;

  struct Call {
    LockBytes bytes;
    int flags;
    int code;  // the answer
  };
  std::function<void(sqlite3_file*, const Call&)> on_lock;
  /// A checkpoint has read the log's header, in which there was something new, and has not looked
  /// at yet how far others have copied: SQLite lets go of the pages that it has mapped.
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
