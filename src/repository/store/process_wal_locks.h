// Applies the two WAL rules (wal_lock_rules.h) to a whole process when only its lock requests to
// the kernel are visible, but not the connections that make them.
//
// SQLite has one descriptor per process for a log's index, however many connections there are, and
// the kernel's locks belong to the process. So a connection is identified by its thread: while it
// holds an exclusive lock, it works in one thread, inside a single call. Two connections that take
// turns in one thread never interleave, so they count as one here.
//
// If a thread holds a byte, requests of other threads for it are refused, although the kernel would
// grant them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
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

  /// See WalLocks::take(). Also returns BUSY if all entries are in use. THREAD is a number that is
  /// unique among the running threads.
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
    // A connection may move to another thread between two calls.
    if (holder == nullptr || (holder->locks.held() & asked.mask()) == 0) {
      holder = find_holder(file, asked);
    }
    if (holder != nullptr) holder->locks.released(asked, below);
  }

  /// Call when the process has lost all locks on FILE, as it does when it closes the file.
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
    WalLocks locks;  // if none are held, the entry is free
  };

  /// Locks bytes in the kernel, but refuses bytes that other threads of the process hold.
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
