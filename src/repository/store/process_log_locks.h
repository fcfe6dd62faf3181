// The log's two rules (log_locks.h) for a whole process, of whose connections nothing is seen but
// the locks that it asks the kernel for.
//
// SQLite has one descriptor of a log's index a process, whatever the number of its connections, and
// the kernel's locks belong to the process. Which connection asks is told by the thread: while one
// holds a lock of its own (not a reader's) it works in one thread, inside one call. Two connections
// that take turns in one thread do not come between each other, and so are one here.
//
// What one thread holds another one cannot have, although the kernel would give it to both.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "log_locks.h"

namespace quarry::repository {

/// Not safe for threads by itself.
class ProcessLogLocks {
 public:
  struct File {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const File&) const = default;
  };

  /// See LogLocks::take(); also BUSY where more is held at once than is kept here. THREAD: any
  /// number that no other living thread has.
  template <typename Below>
  int take(const File& file, std::uintptr_t thread, LockBytes asked, int busy, Below&& below) {
    Entry* own = find(file, thread);
    if (own == nullptr) own = find_free();
    if (own == nullptr) return busy;
    *own = {file, thread, own->locks};
    return own->locks.take(asked, busy, Alone<Below>{*this, *own, busy, below});
  }

  /// See LogLocks::gave().
  template <typename Below>
  void gave(const File& file, std::uintptr_t thread, LockBytes asked, Below&& below) {
    Entry* holder = find(file, thread);
    // A connection may be given to another thread between two of its calls.
    if (holder == nullptr || (holder->locks.held() & asked.mask()) == 0) {
      holder = find_holder(file, asked);
    }
    if (holder != nullptr) holder->locks.gave(asked, below);
  }

  /// All of the process's locks on FILE are gone, as after a close.
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
    LogLocks locks;  // nothing held: the entry is free
  };

  /// The kernel, and what other threads of the process have.
  template <typename Below>
  struct Alone {
    ProcessLogLocks& process;
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
