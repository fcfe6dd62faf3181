#include "wal_guard_vfs.h"

#include <cstddef>
#include <type_traits>

#include "database.h"
#include "wal_lock_rules.h"

namespace quarry::repository {
namespace {

/// SQLite allocates the memory. This object is placed after the file object of the wrapped VFS. The
/// wrapped object is used unchanged, except for its table of methods.
struct GuardedFile {
  sqlite3_io_methods methods;  // must come first, because sqlite3_file::pMethods points to it
  const sqlite3_io_methods* below;
  WalLocks locks;
};
static_assert(std::is_standard_layout_v<GuardedFile> &&
              std::is_trivially_destructible_v<GuardedFile>);

int guarded_file_offset(const sqlite3_vfs& below) {
  constexpr int kAlignment = alignof(GuardedFile);
  return (below.szOsFile + kAlignment - 1) / kAlignment * kAlignment;
}

GuardedFile& guarded_file(sqlite3_file* file) {
  return *const_cast<GuardedFile*>(reinterpret_cast<const GuardedFile*>(file->pMethods));
}

/// The wrapped file, for WalLocks.
struct Below {
  sqlite3_file* file;
  const sqlite3_io_methods* methods;

  int lock(LockBytes bytes) const {
    return methods->xShmLock(file, bytes.first, bytes.count,
                             SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE);
  }
  void unlock(LockBytes bytes) const {
    methods->xShmLock(file, bytes.first, bytes.count, SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
  }
};

int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  GuardedFile& guarded = guarded_file(file);
  const LockBytes bytes{offset, count};
  const Below below{file, guarded.below};
  if (flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE)) {
    return guarded.locks.take(bytes, SQLITE_BUSY, below);
  }
  const int code = guarded.below->xShmLock(file, offset, count, flags);
  if (flags == (SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE)) guarded.locks.released(bytes, below);
  return code;
}

int shm_unmap(sqlite3_file* file, int remove) {
  GuardedFile& guarded = guarded_file(file);
  guarded.locks = {};
  return guarded.below->xShmUnmap(file, remove);
}

}  // namespace

WalGuardVfs::WalGuardVfs(sqlite3_vfs* below, const char* name) {
  if (below == nullptr) throw SqliteError(SQLITE_ERROR, "SQLite does not have a VFS");
  static_cast<sqlite3_vfs&>(vfs_) = *below;
  vfs_.below = below;
  vfs_.pNext = nullptr;
  vfs_.zName = name;
  vfs_.szOsFile = guarded_file_offset(*below) + static_cast<int>(sizeof(GuardedFile));
  vfs_.xOpen = open;
  if (const int code = sqlite3_vfs_register(&vfs_, /*makeDflt=*/0); code != SQLITE_OK) {
    throw SqliteError(code, sqlite3_errstr(code));
  }
}

WalGuardVfs::~WalGuardVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

int WalGuardVfs::open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
                      int* flags_out) {
  sqlite3_vfs* below = static_cast<Vfs*>(vfs)->below;
  const int code = below->xOpen(below, name, file, flags, flags_out);
  // Wrap only files whose VFS supports shared memory. Without shared memory, connections cannot
  // share a log, so the rules are not needed.
  const bool has_log = (flags & SQLITE_OPEN_MAIN_DB) != 0 && code == SQLITE_OK &&
                       file->pMethods->iVersion >= 2 && file->pMethods->xShmLock != nullptr;
  if (!has_log) return code;
  void* memory = reinterpret_cast<std::byte*>(file) + guarded_file_offset(*below);
  auto* guarded = ::new (memory) GuardedFile{*file->pMethods, file->pMethods, {}};
  guarded->methods.xShmLock = shm_lock;
  guarded->methods.xShmUnmap = shm_unmap;
  file->pMethods = &guarded->methods;
  return SQLITE_OK;
}

const char* wal_guard_vfs() {
  static constexpr const char* kName = "quarry-log-guard";
  static const WalGuardVfs guard(sqlite3_vfs_find(nullptr), kName);
  return kName;
}

}  // namespace quarry::repository
