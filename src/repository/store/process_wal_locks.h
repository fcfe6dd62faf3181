// Applies the two WAL rules (wal_lock_rules.h) to a whole process. Only the lock requests to the
// kernel are visible, not the connections from which they come.
//
// All connections of a process share one descriptor for a log's index, and the kernel's locks
// belong to the process. Therefore, a connection is identified by its thread: while a connection
// holds an exclusive lock, this connection works in one thread, inside a single call. Two
// connections in one thread are never in such calls at the same time, so they can be treated as one
// connection.
//
// If a thread has locked a byte, this class refuses the requests of other threads for the same
// byte, because the kernel would grant these requests.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "wal_lock_rules.h"

namespace quarry::repository {

/// Not thread-safe.
class ProcessWalLocks {
 public:
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const File&) const = default;
  };

  /// Like WalLocks::take(), but also returns BUSY if all entries are in use. THREAD is a number
  /// that is unique among the running threads.
  template <typename Below>
  int take(const File& file, std::uintptr_t thread, LockBytes asked, int busy, Below&& below) {
    Entry* own = find(file, thread);
    if (own == nullptr) own = find_free();
    if (own == nullptr) return busy;
    *own = {file, thread, own->locks};
    return own->locks.take(asked, busy, OtherThreadsExcluded<Below>{*this, *own, busy, below});
  }

  /// See WalLocks::released().
  template <typename Below>
  void released(const File& file, std::uintptr_t thread, LockBytes asked, Below&& below) {
    Entry* holder = find(file, thread);
    // If THREAD does not hold the bytes, find the thread that does: a connection can be used in
    // different threads, one call after another.
    if (holder == nullptr || (holder->locks.held() & asked.mask()) == 0) {
      holder = find_holder(file, asked);
    }
    if (holder != nullptr) holder->locks.released(asked, below);
  }

  /// Call after the process has lost all locks on FILE, for example because it has closed the file.
  void forget(const File& file) {
    for (Entry& entry : entries_) {
      if (entry.file == file) entry.locks = {};
    }
  }
  void clear() { entries_ = {}; }
  bool is_empty() const {
    for (const Entry& entry : entries_) {
      if (entry.locks.held() != 0) return false;
    }
    return true;
  }

 private:
  struct Entry {
    File file;
    std::uintptr_t thread = 0;
    WalLocks locks;  // if no locks are held, the entry is free
  };

  /// Locks bytes in the kernel. Refuses bytes that other threads of the process hold.
  template <typename Below>
  struct OtherThreadsExcluded {
    ProcessWalLocks& process;
    const Entry& own;
    int busy;
    Below& below;

    int lock(LockBytes bytes) const {
      const Entry* holder = process.find_holder(own.file, bytes);
      if (holder != nullptr && holder != &own) return busy;
      return below.lock(bytes);
    }
    void unlock(LockBytes bytes) const { below.unlock(bytes); }
  };

  Entry* find(const File& file, std::uintptr_t thread) {
    for (Entry& entry : entries_) {
      if (entry.locks.held() != 0 && entry.file == file && entry.thread == thread) return &entry;
    }
    return nullptr;
  }
  Entry* find_holder(const File& file, LockBytes bytes) {
    for (Entry& entry : entries_) {
      if (entry.file == file && (entry.locks.held() & bytes.mask()) != 0) return &entry;
    }
    return nullptr;
  }
  Entry* find_free() {
    for (Entry& entry : entries_) {
      if (entry.locks.held() == 0) return &entry;
    }
    return nullptr;
  }

  std::array<Entry, 64> entries_{};
};

}  // namespace quarry::repository
