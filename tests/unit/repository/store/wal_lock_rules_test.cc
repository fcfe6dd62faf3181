// Tests the rules of wal_lock_rules.h with guarded and unguarded connections. The connections
// make SQLite's lock requests in random order on a table of locks in memory.
//
//   QUARRY_TEST_LOCK_CALLS   number of requests (default: 2,000,000)
//   QUARRY_TEST_SEED         seed (default: 1)
#include "store/wal_lock_rules.h"

#include <doctest/doctest.h>

#include <deque>
#include <random>

#include "lock_crowd.h"
#include "store/wal_guard_vfs.h"

using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

/// A VFS whose files exist only as numbers in a LockTable.
class TableVfs : public sqlite3_vfs {
 public:
  explicit TableVfs(LockTable& table) : sqlite3_vfs(), table_(table) {
    iVersion = 1;
    szOsFile = sizeof(File);
    mxPathname = 16;
    zName = "lock-table";
    xOpen = [](sqlite3_vfs* vfs, const char*, sqlite3_file* file, int, int*) {
      auto* self = static_cast<TableVfs*>(vfs);
      ::new (file) File{{&kMethods}, self->opened_++, &self->table_};
      return SQLITE_OK;
    };
  }

 private:
  struct File : sqlite3_file {
    std::size_t number;
    LockTable* table;
  };
  static int shm_lock(sqlite3_file* file, int first, int count, int flags) {
    auto* self = static_cast<File*>(file);
    const LockBytes bytes{first, count};
    if ((flags & SQLITE_SHM_LOCK) != 0) {
      return self->table->lock(self->number, bytes, (flags & SQLITE_SHM_EXCLUSIVE) != 0);
    }
    self->table->unlock(self->number, bytes);
    return SQLITE_OK;
  }
  static inline const sqlite3_io_methods kMethods = [] {
    sqlite3_io_methods methods{};
    methods.iVersion = 2;
    methods.xShmLock = shm_lock;
    return methods;
  }();
  LockTable& table_;
  std::size_t opened_ = 0;
};

/// Forwards lock requests from WalLocks to TABLE for the connection WHO.
struct Below {
  LockTable& table;
  std::size_t who;
  int lock(LockBytes bytes) const { return table.lock(who, bytes, true); }
  void unlock(LockBytes bytes) const { table.unlock(who, bytes); }
};

/// Connection 0 is guarded, and connection 1 is not.
struct GuardedAndOther {
  GuardedAndOther() {
    for (const bool is_guarded : {true, false}) {
      monitor.add(is_guarded);
      table.add();
    }
  }
  LockMonitor monitor;
  LockTable table{monitor};
  Below below{table, 0};
  WalLocks locks;
};

/// A number of guarded and unguarded connections. run() makes CALLS steps in random order.
class Crowd {
 public:
  Crowd(int guarded, int others, std::uint64_t seed)
      : table_(monitor_), below_(table_), guard_(&below_, "lock-table-guard"), random_(seed) {
    for (int i = 0; i < guarded + others; ++i) {
      const bool is_guarded = i < guarded;
      monitor_.add(is_guarded);
      table_.add();
      sqlite3_vfs* vfs = is_guarded ? sqlite3_vfs_find("lock-table-guard") : &below_;
      connections_.emplace_back(*vfs, random_());
    }
  }
  void run(std::uint64_t calls) {
    for (std::uint64_t i = 0; i < calls && monitor_.breach().empty(); ++i) {
      connections_[random_() % connections_.size()].step();
    }
  }
  const LockMonitor& monitor() const { return monitor_; }
  /// Lets all connections finish their scripts. Returns the bytes that a connection still holds, or
  /// 0.
  unsigned left_over() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      while (!connections_[i].is_between()) connections_[i].step();
      if (table_.exclusive(i) != 0) return table_.exclusive(i);
    }
    return 0;
  }

 private:
  LockMonitor monitor_;
  LockTable table_;
  TableVfs below_;
  WalGuardVfs guard_;
  std::mt19937_64 random_;
  std::deque<ScriptedConnection> connections_;
};

}  // namespace

TEST_CASE(
    "guarded connections keep the log's rules in random interleavings with an unguarded one") {
  const std::uint64_t calls = from_environment("QUARRY_TEST_LOCK_CALLS", 2'000'000);
  for (const int guarded : {1, 2, 4}) {
    CAPTURE(guarded);
    Crowd crowd(guarded, 1, from_environment("QUARRY_TEST_SEED", 1));
    crowd.run(calls / 3);
    CHECK(crowd.monitor().breach() == "");
    CHECK(crowd.monitor().harm() == 0);
    CHECK(crowd.monitor().copies() > calls / 3000);
    CHECK(crowd.monitor().resets() > calls / 3000);
    CHECK(crowd.left_over() == 0);
  }
}

TEST_CASE("unguarded connections harm each other in such interleavings, but no guarded one") {
  Crowd crowd(2, 2, from_environment("QUARRY_TEST_SEED", 1));
  crowd.run(300'000);
  CHECK(crowd.monitor().breach() == "");
  CHECK(crowd.monitor().harm() > 0);
}

TEST_CASE("a connection keeps the rules even with requests in random order") {
  std::minstd_rand random(7);
  const auto any = [&] {
    const int first = static_cast<int>(random() % kLockByteCount);
    return LockBytes{
        first, 1 + static_cast<int>(random() % (kLockByteCount - static_cast<unsigned>(first)))};
  };
  std::vector<WalLocks> locks(3);
  LockMonitor monitor;
  LockTable table(monitor);
  for (std::size_t i = 0; i < locks.size(); ++i) {
    monitor.add(true);
    table.add();
  }
  for (int i = 0; i < 200'000 && monitor.breach().empty(); ++i) {
    const std::size_t who = random() % locks.size();
    const LockBytes bytes = any();
    const Below below{table, who};
    if (random() % 3 != 0) {
      // SQLite does not request a lock that it already holds.
      if ((locks[who].held() & bytes.mask()) == 0) locks[who].take(bytes, SQLITE_BUSY, below);
    } else {
      // SQLite releases all bytes that it holds in one call.
      table.unlock(who, {0, kLockByteCount});
      locks[who].released({0, kLockByteCount}, below);
    }
  }
  CHECK(monitor.breach() == "");
}

TEST_CASE("a passive checkpoint also takes the write lock, and releases it") {
  GuardedAndOther two;
  auto& [monitor, table, below, locks] = two;
  SUBCASE("if it is free") {
    CHECK(locks.take(kCheckpointByte, SQLITE_BUSY, below) == SQLITE_OK);
    CHECK(table.exclusive(0) == 0b11);
    CHECK(locks.take(kFirstReaderByte, SQLITE_BUSY, below) == SQLITE_OK);
  }
  SUBCASE("if another connection writes, nothing is copied") {
    REQUIRE(table.lock(1, kWriteByte, true) == SQLITE_OK);
    CHECK(locks.take(kCheckpointByte, SQLITE_BUSY, below) == SQLITE_OK);
    CHECK(locks.take(kFirstReaderByte, SQLITE_BUSY, below) == SQLITE_BUSY);
    CHECK(locks.take({4, 1}, SQLITE_BUSY, below) == SQLITE_BUSY);
  }
  SUBCASE("and keeps it for a later request") {
    CHECK(locks.take(kCheckpointByte, SQLITE_BUSY, below) == SQLITE_OK);
    CHECK(locks.take(kWriteByte, SQLITE_BUSY, below) == SQLITE_OK);
    below.unlock(kWriteByte);
    locks.released(kWriteByte, below);
    CHECK(locks.take(kFirstReaderByte, SQLITE_BUSY, below) == SQLITE_BUSY);
  }
  below.unlock({1, 7});
  locks.released({1, 7}, below);
  CHECK(table.exclusive(0) == 0);
  CHECK(locks.held() == 0);
}

TEST_CASE("a reset also takes the checkpoint lock, and is refused if that is not free") {
  GuardedAndOther two;
  auto& [monitor, table, below, locks] = two;
  REQUIRE(locks.take(kWriteByte, SQLITE_BUSY, below) == SQLITE_OK);
  SUBCASE("free") {
    CHECK(locks.take(kResetBytes, SQLITE_BUSY, below) == SQLITE_OK);
    CHECK(table.exclusive(0) == 0b11110011);
    below.unlock(kResetBytes);
    locks.released(kResetBytes, below);
    CHECK(table.exclusive(0) == kWriteByte.mask());
  }
  SUBCASE("another checkpoint is running") {
    REQUIRE(table.lock(1, kCheckpointByte, true) == SQLITE_OK);
    CHECK(locks.take(kResetBytes, SQLITE_BUSY, below) == SQLITE_BUSY);
    CHECK(table.exclusive(0) == kWriteByte.mask());
  }
  SUBCASE("a reader is active: the checkpoint lock is released at once") {
    REQUIRE(table.lock(1, {5, 1}, false) == SQLITE_OK);
    CHECK(locks.take(kResetBytes, SQLITE_BUSY, below) == SQLITE_BUSY);
    CHECK(table.exclusive(0) == kWriteByte.mask());
  }
}
