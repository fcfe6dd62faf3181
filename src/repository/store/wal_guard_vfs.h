// A SQLite VFS that wraps another VFS. All connections that are opened through it keep the two
// rules of the write-ahead log (wal_lock_rules.h). It changes only xShmLock.
#pragma once

#include <sqlite3.h>

namespace quarry::repository {

/// Returns the name of the VFS, for sqlite3_open_v2(). The first call registers it as a wrapper of
/// the default VFS. Thread-safe. Throws SqliteError.
const char* wal_guard_vfs();

/// Wraps any VFS. Must outlive the connections that are opened through it.
class WalGuardVfs {
 public:
  /// Registers the VFS as NAME, as a wrapper of BELOW. BELOW and NAME must outlive this object.
  /// Throws SqliteError.
  WalGuardVfs(sqlite3_vfs* below, const char* name);
  ~WalGuardVfs();
  WalGuardVfs(const WalGuardVfs&) = delete;
  WalGuardVfs& operator=(const WalGuardVfs&) = delete;

 private:
  struct Vfs : sqlite3_vfs {
    sqlite3_vfs* below = nullptr;
  };
  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
                  int* flags_out);

  Vfs vfs_;
};

}  // namespace quarry::repository
