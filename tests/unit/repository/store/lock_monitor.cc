#include "lock_monitor.h"

#include <fmt/core.h>

#include <new>

namespace quarry::repository::test {
namespace {

constexpr unsigned kReaders = LockBytes{3, 5}.mask();

bool has(unsigned held, LockBytes bytes) {
  return (held & bytes.mask()) == bytes.mask();
}

}  // namespace

std::size_t LockMonitor::add(bool guarded) {
  connections_.push_back({.is_guarded = guarded});
  return connections_.size() - 1;
}

void LockMonitor::report(const std::string& what) {
  if (breach_.empty()) breach_ = what;
}

void LockMonitor::exclusively(std::size_t who, LockBytes bytes) {
  Connection& connection = connections_[who];
  const unsigned mask = bytes.mask();
  const unsigned before = connection.held;
  connection.held |= mask;
  if (mask == kCheckpointByte.mask() && !connection.is_in_checkpoint) {
    connection.is_in_checkpoint = true;
    connection.has_copied = connection.was_reset = connection.was_reset_guarded = false;
  }
  if (mask == kWriteByte.mask()) {
    // After SQLite gets the write lock, it reads the header again, so earlier resets are harmless.
    connection.was_reset = connection.was_reset_guarded = false;
  }
  const bool is_reset = has(mask, kResetBytes);
  if ((mask & kReaders) != 0 && has(before, kCheckpointByte) && !has(before, kWriteByte) &&
      connection.is_guarded && !is_reset) {
    report(fmt::format("rule (a): {} has bytes {:x} with 121 and without 120", who, mask));
  }
  if (mask == kFirstReaderByte.mask() && has(before, kCheckpointByte)) check_copy(connection);
  if (is_reset) check_reset(who);
}

void LockMonitor::check_copy(Connection& connection) {
  ++copies_;
  connection.has_copied = true;
  if (!connection.was_reset) return;
  if (connection.is_guarded || connection.was_reset_guarded) {
    report("frames are copied by a header from before a reset");
  }
  ++harm_;
}

void LockMonitor::check_reset(std::size_t who) {
  ++resets_;
  const Connection& resetting = connections_[who];
  if (resetting.is_guarded && !has(resetting.held, kCheckpointByte)) {
    report(fmt::format("rule (b): {} resets the log without 121", who));
  }
  for (std::size_t other = 0; other < connections_.size(); ++other) {
    Connection& checkpoint = connections_[other];
    if (other == who || !checkpoint.is_in_checkpoint) continue;
    checkpoint.was_reset = true;
    checkpoint.was_reset_guarded = checkpoint.was_reset_guarded || resetting.is_guarded;
    if (!checkpoint.has_copied) continue;
    if (resetting.is_guarded || checkpoint.is_guarded) {
      report(fmt::format("{} resets the log while {} copies", who, other));
    }
    ++harm_;
  }
}

void LockMonitor::unlocked(std::size_t who, LockBytes bytes) {
  Connection& connection = connections_[who];
  const unsigned mask = bytes.mask();
  const bool has_lent = (connection.held & mask & kCheckpointByte.mask()) != 0;
  if (has_lent && connection.is_guarded && has(connection.held & ~mask, kResetBytes)) {
    report(fmt::format("rule (b): {} gives 121 back before the reset has ended", who));
  }
  const bool has_ended = connection.has_copied && (mask & kFirstReaderByte.mask()) != 0;
  connection.held &= ~mask;
  if (has_ended || !has(connection.held, kCheckpointByte)) connection.is_in_checkpoint = false;
}

void LockMonitor::forgotten(std::size_t who) {
  connections_[who].held = 0;
  connections_[who].is_in_checkpoint = false;
}

// --- WatchedVfs ----------------------------------------------------------------------------------

WatchedVfs::File& WatchedVfs::file_of(sqlite3_file* file) {
  // The File is stored after the wrapped VFS's own object. A guard can replace `pMethods`, so the
  // offset of the File must not depend on it.
  static const int offset = (sqlite3_vfs_find("unix")->szOsFile + 15) / 16 * 16;
  return *std::launder(reinterpret_cast<File*>(reinterpret_cast<std::byte*>(file) + offset));
}

WatchedVfs::WatchedVfs(const char* name) : sqlite3_vfs(), below_(sqlite3_vfs_find("unix")) {
  static_cast<sqlite3_vfs&>(*this) = *below_;
  zName = name;
  pNext = nullptr;
  szOsFile = (below_->szOsFile + 15) / 16 * 16 + static_cast<int>(sizeof(File));
  xOpen = [](sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    auto* self = static_cast<WatchedVfs*>(vfs);
    const int code = self->below_->xOpen(self->below_, path, file, flags, out);
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
    File* watched = ::new (&file_of(file)) File{*file->pMethods, file->pMethods, self};
    watched->methods.xShmLock = [](sqlite3_file* of, int first, int count, int how) {
      File& it = file_of(of);
      const int answer = it.below->xShmLock(of, first, count, how);
      if (it.vfs->on_lock) it.vfs->on_lock(of, {{first, count}, how, answer});
      return answer;
    };
    watched->methods.xUnfetch = [](sqlite3_file* of, sqlite3_int64 offset, void* page) {
      File& it = file_of(of);
      if (page == nullptr && it.vfs->on_header_read) it.vfs->on_header_read(of);
      return it.below->xUnfetch(of, offset, page);
    };
    file->pMethods = &watched->methods;
    return SQLITE_OK;
  };
  sqlite3_vfs_register(this, 0);
}

WatchedVfs::~WatchedVfs() {
  sqlite3_vfs_unregister(this);
}

}  // namespace quarry::repository::test
