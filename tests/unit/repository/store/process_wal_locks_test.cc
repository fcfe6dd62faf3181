// Tests the rules for whole processes (process_wal_locks.h). Several processes make lock requests
// in random order. Each process has several threads, and each thread has a connection.
//
//   QUARRY_TEST_LOCK_CALLS   number of requests (default: 2,000,000)
//   QUARRY_TEST_SEED         seed (default: 1)
#include "store/process_wal_locks.h"

#include <doctest/doctest.h>

#include <deque>

#include "lock_crowd.h"

using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

constexpr ProcessWalLocks::File kFile{1, 2};

/// A process with its connections. `connections` models the locks that SQLite tracks itself, and
/// `locks` is the guard between SQLite and the kernel. The kernel does not distinguish the
/// connections of a process.
struct Process {
  struct Held {
    std::size_t connection;
    unsigned shared = 0;
    unsigned exclusive = 0;
  };
  std::size_t number;
  bool is_guarded;
  ProcessWalLocks locks;
  std::deque<Held> connections;
};

class ProcessesVfs : public sqlite3_vfs {
 public:
  ProcessesVfs() : sqlite3_vfs(), kernel_(unwatched_) {
    szOsFile = sizeof(File);
    xOpen = [](sqlite3_vfs* vfs, const char*, sqlite3_file* file, int, int*) {
      auto* self = static_cast<ProcessesVfs*>(vfs);
      Process& process = self->processes_.back();
      process.connections.push_back({self->monitor.add(process.is_guarded)});
      ::new (file) File{{&kMethods}, self, &process, &process.connections.back()};
      return SQLITE_OK;
    };
  }
  /// Starts a new process. Connections that are opened afterwards belong to this process.
  void begin_process(bool guarded) {
    unwatched_.add(false);
    kernel_.add();
    processes_.push_back({processes_.size(), guarded, {}, {}});
  }
  bool holds_anything() const {
    for (const Process& process : processes_) {
      if (kernel_.exclusive(process.number) != 0 || !process.locks.is_empty()) return true;
    }
    return false;
  }

  LockMonitor monitor;

 private:
  struct File : sqlite3_file {
    ProcessesVfs* vfs;
    Process* process;
    Process::Held* own;
  };
  struct Below {
    LockTable& kernel;
    LockMonitor& monitor;
    const File& file;
    int lock(LockBytes bytes) const {
      const int code = kernel.lock(file.process->number, bytes, true);
      if (code == SQLITE_OK) monitor.exclusively(file.own->connection, bytes);
      return code;
    }
    void unlock(LockBytes bytes) const {
      kernel.unlock(file.process->number, bytes);
      monitor.unlocked(file.own->connection, bytes);
    }
  };

  int lock(File& file, LockBytes bytes, bool exclusive) {
    const unsigned mask = bytes.mask();
    bool is_shared = false;
    for (const auto& other : file.process->connections) {
      if (&other == file.own) continue;
      if ((other.exclusive & mask) != 0) return SQLITE_BUSY;
      is_shared = is_shared || (other.shared & mask) != 0;
    }
    if (exclusive && is_shared) return SQLITE_BUSY;
    const Below below{kernel_, monitor, file};
    int code = SQLITE_OK;
    if (exclusive && file.process->is_guarded) {
      code = file.process->locks.take(kFile, file.own->connection, bytes, SQLITE_BUSY, below);
    } else if (exclusive) {
      code = below.lock(bytes);
    } else if (!is_shared) {
      code = kernel_.lock(file.process->number, bytes, false);
    }
    if (code == SQLITE_OK) (exclusive ? file.own->exclusive : file.own->shared) |= mask;
    return code;
  }
  void unlock(File& file, LockBytes bytes) {
    const unsigned mask = bytes.mask();
    file.own->exclusive &= ~mask;
    file.own->shared &= ~mask;
    for (const auto& other : file.process->connections) {
      if ((other.shared & mask) != 0) return;
    }
    const Below below{kernel_, monitor, file};
    below.unlock(bytes);
    if (file.process->is_guarded) {
      file.process->locks.released(kFile, file.own->connection, bytes, below);
    }
  }
  static int shm_lock(sqlite3_file* file, int first, int count, int flags) {
    auto& self = *static_cast<File*>(file);
    if ((flags & SQLITE_SHM_LOCK) != 0) {
      return self.vfs->lock(self, {first, count}, (flags & SQLITE_SHM_EXCLUSIVE) != 0);
    }
    self.vfs->unlock(self, {first, count});
    return SQLITE_OK;
  }
  static inline const sqlite3_io_methods kMethods = [] {
    sqlite3_io_methods methods{};
    methods.iVersion = 2;
    methods.xShmLock = shm_lock;
    return methods;
  }();

  LockMonitor unwatched_;
  LockTable kernel_;
  std::deque<Process> processes_;
};

}  // namespace

TEST_CASE("processes of several threads keep the log's rules in random interleavings") {
  const std::uint64_t calls = from_environment("QUARRY_TEST_LOCK_CALLS", 2'000'000);
  ProcessesVfs vfs;
  std::mt19937_64 random(from_environment("QUARRY_TEST_SEED", 1));
  std::deque<ScriptedConnection> connections;
  for (const auto& [guarded, threads] : {std::pair{true, 3}, {true, 2}, {false, 1}}) {
    vfs.begin_process(guarded);
    for (int i = 0; i < threads; ++i) connections.emplace_back(vfs, random());
  }
  for (std::uint64_t i = 0; i < calls && vfs.monitor.breach().empty(); ++i) {
    connections[random() % connections.size()].step();
  }
  CHECK(vfs.monitor.breach() == "");
  CHECK(vfs.monitor.harm() == 0);
  CHECK(vfs.monitor.copies() > calls / 3000);
  CHECK(vfs.monitor.resets() > calls / 3000);
  for (auto& connection : connections) {
    while (!connection.is_between()) connection.step();
  }
  CHECK_FALSE(vfs.holds_anything());
}

namespace {

/// A kernel that grants every request, as for locks that the process already holds.
struct Willing {
  int lock(LockBytes) const { return 0; }
  void unlock(LockBytes) const {}
};
constexpr int kBusy = 11;

}  // namespace

TEST_CASE("a thread does not reset the log while another one of its process runs a checkpoint") {
  ProcessWalLocks locks;
  REQUIRE(locks.take(kFile, 2, kWriteByte, kBusy, Willing()) == 0);
  REQUIRE(locks.take(kFile, 1, kCheckpointByte, kBusy, Willing()) == 0);
  CHECK(locks.take(kFile, 2, kResetBytes, kBusy, Willing()) == kBusy);
  // The checkpoint must not copy frames either, because its thread does not hold the write lock.
  CHECK(locks.take(kFile, 1, kFirstReaderByte, kBusy, Willing()) == kBusy);
  constexpr ProcessWalLocks::File kOther{1, 3};
  REQUIRE(locks.take(kOther, 2, kWriteByte, kBusy, Willing()) == 0);
  CHECK(locks.take(kOther, 2, kResetBytes, kBusy, Willing()) == 0);
}

TEST_CASE("a lock may be released by another thread of the process") {
  ProcessWalLocks locks;
  REQUIRE(locks.take(kFile, 1, kWriteByte, kBusy, Willing()) == 0);
  CHECK(locks.take(kFile, 2, kWriteByte, kBusy, Willing()) == kBusy);
  locks.released(kFile, 2, kWriteByte, Willing());
  CHECK(locks.is_empty());
  CHECK(locks.take(kFile, 2, kWriteByte, kBusy, Willing()) == 0);
}

TEST_CASE("after a close no thread of the process holds a lock on the file") {
  ProcessWalLocks locks;
  REQUIRE(locks.take(kFile, 1, kCheckpointByte, kBusy, Willing()) == 0);
  locks.forget(kFile);
  CHECK(locks.is_empty());
  CHECK(locks.take(kFile, 2, kResetBytes, kBusy, Willing()) == 0);
}

TEST_CASE("more locks than there are entries are refused as busy") {
  ProcessWalLocks locks;
  int had = 0;
  for (ino_t inode = 0; inode < 100; ++inode) {
    const int code = locks.take({1, inode}, 1, kWriteByte, kBusy, Willing());
    CHECK((code == 0 || code == kBusy));
    if (code == 0) ++had;
  }
  CHECK(had == 64);
}
