// A VFS over SQLite's own that keeps the two rules of the write-ahead log (log_locks.h) for every
// connection that is opened through it. Only xShmLock differs.
#pragma once

#include <sqlite3.h>

namespace quarry::repository {

/// The VFS's name, for sqlite3_open_v2(). The first call registers it over the default VFS; from
/// any thread. Throws SqliteError.
const char* log_guard();

/// A guard over another VFS than the default one. It must outlive the connections opened through
/// it.
class LogGuard {
 public:
  /// Registers it as NAME. BELOW and NAME must outlive it. Throws SqliteError.
  LogGuard(sqlite3_vfs* below, const char* name);
  ~LogGuard();
  LogGuard(const LogGuard&) = delete;
  LogGuard& operator=(const LogGuard&) = delete;

 private:
  struct Vfs : sqlite3_vfs {
    sqlite3_vfs* below = nullptr;
  };
  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
                  int* flags_out);

  Vfs vfs_;
};

}  // namespace quarry::repository
