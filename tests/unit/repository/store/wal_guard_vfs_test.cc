// Tests the guard with real connections. One test replays the race that loses commits. Another test
// makes SQLite do random work, and checks SQLite's lock requests against the rules.
//
// The number of lock requests in random work is $QUARRY_TEST_LOCK_CALLS (default: 2,000,000)
// divided by 150.
#include "store/wal_guard_vfs.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <thread>

#include "lock_crowd.h"
#include "lock_monitor.h"
#include "store/database.h"
#include "temporary_folder.h"

using namespace quarry::repository;
using quarry::repository::test::from_environment;
using quarry::repository::test::LockMonitor;
using quarry::repository::test::WatchedVfs;

namespace {

/// A connection through the VFS with the given name, or through the default VFS for nullptr.
class Bare {
 public:
  Bare(const std::filesystem::path& path, const char* vfs, int flags = SQLITE_OPEN_READWRITE) {
    REQUIRE(sqlite3_open_v2(path.c_str(), &handle_, flags | SQLITE_OPEN_CREATE, vfs) == SQLITE_OK);
    sqlite3_wal_autocheckpoint(handle_, 0);
    run("PRAGMA synchronous=OFF");
  }
  ~Bare() { sqlite3_close(handle_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  int run(const char* sql) { return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }
  std::string text(const char* sql) {
    std::string text;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) != SQLITE_OK) {
      text = sqlite3_errmsg(handle_);
    } else if (sqlite3_step(statement) == SQLITE_ROW) {
      text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return text;
  }
  /// The result code of a checkpoint, the number of frames in the log, and the number of copied
  /// frames.
  struct Checkpointed {
    int code = 0;
    int in_log = 0;
    int copied = 0;
  };
  Checkpointed checkpoint(int mode) {
    Checkpointed done;
    done.code = sqlite3_wal_checkpoint_v2(handle_, "main", mode, &done.in_log, &done.copied);
    return done;
  }
  sqlite3_file* file() {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(handle_, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return file;
  }

 private:
  sqlite3* handle_ = nullptr;
};

/// Returns true if this version of SQLite itself prevents a reset of the log during a checkpoint.
bool is_mended() {
  const int version = sqlite3_libversion_number();
  return version >= 3051003 || (version >= 3050007 && version < 3051000) ||
         (version >= 3044006 && version < 3045000);
}

struct Race {
  int acknowledged = 0;
  int left = 0;
  bool is_sound = false;
};

/// Replays the race that can lose a commit. A checkpoint reads the header of the log. Before the
/// checkpoint checks how many frames are copied, another connection commits. All earlier frames
/// have been copied, so this commit resets the log. If IS_BUSY is true, a third connection holds
/// the write lock until the commit.
Race race(WatchedVfs& watched, const char* checkpointing, const char* committing, int mode,
          bool is_busy = false) {
  const TemporaryFolder folder;
  const auto path = folder / "race.db";
  Race race;
  {
    Bare a(path, checkpointing);
    a.run("PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
    Bare b(path, committing);
    const auto commit = [&](const char* sql) {
      if (b.run(sql) == SQLITE_OK) ++race.acknowledged;
    };
    for (int i = 0; i < 50; ++i) commit("INSERT INTO t VALUES(randomblob(3000))");
    REQUIRE(b.checkpoint(SQLITE_CHECKPOINT_FULL).code == SQLITE_OK);
    Bare writer(path, committing);
    if (is_busy) REQUIRE(writer.run("BEGIN IMMEDIATE") == SQLITE_OK);
    bool is_armed = true;
    watched.on_header_read = [&](sqlite3_file* file) {
      if (!is_armed || file != a.file()) return;
      is_armed = false;
      if (is_busy) writer.run("ROLLBACK");
      commit("INSERT INTO t VALUES('during')");
    };
    a.checkpoint(mode);
    CHECK_FALSE(is_armed);
    watched.on_header_read = nullptr;
    commit("INSERT INTO t VALUES('after')");
  }
  Bare after(path, nullptr);
  race.left = std::stoi(after.text("SELECT count(*) FROM t"));
  race.is_sound = after.text("PRAGMA integrity_check") == "ok";
  return race;
}

}  // namespace

TEST_CASE("a commit during a checkpoint is lost by an old SQLite, but not with the guard") {
  WatchedVfs watched("watched");
  WalGuardVfs guard(&watched, "watched-guard");
  struct Case {
    const char* checkpointing;
    const char* committing;
    int mode;
    bool is_busy = false;
  };
  SUBCASE("both without the guard") {
    const Race done = race(watched, "watched", "watched", SQLITE_CHECKPOINT_PASSIVE);
    CHECK(done.acknowledged == 52);
    if (!is_mended()) CHECK(done.left < done.acknowledged);
    if (is_mended()) CHECK(done.left == done.acknowledged);
  }
  SUBCASE("one or both with it") {
    for (const auto& [checkpointing, committing, mode, is_busy] :
         {Case{"watched", "watched-guard", SQLITE_CHECKPOINT_PASSIVE},
          Case{"watched-guard", "watched", SQLITE_CHECKPOINT_PASSIVE},
          Case{"watched-guard", "watched-guard", SQLITE_CHECKPOINT_PASSIVE},
          Case{"watched-guard", "watched-guard", SQLITE_CHECKPOINT_FULL},
          Case{"watched-guard", "watched", SQLITE_CHECKPOINT_TRUNCATE},
          Case{"watched-guard", "watched", SQLITE_CHECKPOINT_PASSIVE, true},
          Case{"watched-guard", "watched", SQLITE_CHECKPOINT_FULL, true}}) {
      CAPTURE(checkpointing);
      CAPTURE(committing);
      const Race done = race(watched, checkpointing, committing, mode, is_busy);
      CHECK(done.acknowledged >= 51);  // the commit during the checkpoint can fail with SQLITE_BUSY
      CHECK(done.left == done.acknowledged);
      CHECK(done.is_sound);
    }
  }
}

TEST_CASE("every lock that SQLite requests in random work keeps the log's rules") {
  WatchedVfs watched("watched");
  WalGuardVfs guard(&watched, "watched-guard");
  LockMonitor monitor;
  std::map<sqlite3_file*, std::size_t> numbers;
  const TemporaryFolder folder;
  const auto path = folder / "work.db";
  // One connection is unguarded, and three are guarded.
  std::vector<std::unique_ptr<Bare>> connections;
  const auto open = [&](bool guarded) {
    auto bare = std::make_unique<Bare>(path, guarded ? "watched-guard" : "watched");
    numbers[bare->file()] = monitor.add(guarded);
    return bare;
  };
  const std::uint64_t wanted_calls = from_environment("QUARRY_TEST_LOCK_CALLS", 2'000'000) / 150;
  std::uint64_t calls = 0;
  watched.on_lock = [&](sqlite3_file* file, const WatchedVfs::Call& call) {
    ++calls;
    const auto number = numbers.find(file);
    if (number == numbers.end() || (call.flags & SQLITE_SHM_EXCLUSIVE) == 0) return;
    if (call.code != SQLITE_OK) return;
    if ((call.flags & SQLITE_SHM_LOCK) != 0) monitor.exclusively(number->second, call.bytes);
    if ((call.flags & SQLITE_SHM_UNLOCK) != 0) monitor.unlocked(number->second, call.bytes);
  };
  for (const bool guarded : {false, true, true, true}) connections.push_back(open(guarded));
  connections[0]->run("PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
  std::minstd_rand random(3);
  int acknowledged = 0;
  while (calls < wanted_calls && monitor.breach().empty()) {
    Bare& one = *connections[random() % connections.size()];
    constexpr std::array kModes{SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_FULL,
                                SQLITE_CHECKPOINT_RESTART, SQLITE_CHECKPOINT_TRUNCATE};
    switch (random() % 6) {
      case 0:
        one.run("BEGIN; SELECT 1 FROM t LIMIT 1");
        break;
      case 1:
        one.checkpoint(kModes[random() % kModes.size()]);
        break;
      case 2:
        one.run("COMMIT");
        break;
      case 3:
        one.run("ROLLBACK");
        break;
      default:
        if (one.run("ROLLBACK") == SQLITE_OK) break;
        if (one.run("INSERT INTO t VALUES(randomblob(500))") == SQLITE_OK) ++acknowledged;
        break;
    }
  }
  CHECK(monitor.breach() == "");
  CHECK(monitor.copies() > 20);
  CHECK(monitor.resets() > 20);
  watched.on_lock = nullptr;
  connections.clear();
  Bare after(path, nullptr);
  CHECK(std::stoi(after.text("SELECT count(*) FROM t")) == acknowledged);
  CHECK(after.text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("read-only connections, exclusive mode and files without a log work as usual") {
  const TemporaryFolder folder;
  const auto path = folder / "one.db";
  constexpr auto kTimeout = std::chrono::milliseconds(0);
  {
    Database plain(path, Database::Mode::kCreate, kTimeout);
    plain.execute("CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    Database reader(path, Database::Mode::kReadOnly, kTimeout);
    CHECK(reader.has_table("t"));
  }
  CHECK_FALSE(std::filesystem::exists(path.string() + "-wal"));
  {
    Database writer(path, Database::Mode::kReadWrite, kTimeout);
    writer.execute("PRAGMA journal_mode=WAL; INSERT INTO t VALUES(2)");
    Database reader(path, Database::Mode::kReadOnly, kTimeout);
    Query rows = reader.query("SELECT count(*) FROM t");
    REQUIRE(rows.step());
    CHECK(rows.integer(0) == 2);
  }
  // Closing the last connection has copied and removed the log.
  CHECK_FALSE(std::filesystem::exists(path.string() + "-wal"));
  {
    Database alone(path, Database::Mode::kReadWrite, kTimeout);
    alone.execute("PRAGMA locking_mode=EXCLUSIVE; INSERT INTO t VALUES(3)");
    alone.execute("PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES(4)");
  }
  CHECK_FALSE(std::filesystem::exists(path.string() + "-wal"));
  Bare after(path, nullptr);
  CHECK(after.text("SELECT count(*) FROM t") == "4");
}

TEST_CASE("the log of a crashed program is recovered through the guard") {
  const TemporaryFolder folder;
  const auto path = folder / "dead.db";
  const auto copy = folder / "copy.db";
  {
    Bare writer(path, nullptr);
    writer.run("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(path.string() + suffix, copy.string() + suffix);
    }
  }
  Database recovered(copy, Database::Mode::kReadWrite, std::chrono::milliseconds(0));
  Query rows = recovered.query("SELECT count(*) FROM t");
  REQUIRE(rows.step());
  CHECK(rows.integer(0) == 1);
}

TEST_CASE("our commits never run a checkpoint") {
  const TemporaryFolder folder;
  Database database(folder / "one.db", Database::Mode::kCreate, std::chrono::milliseconds(0));
  database.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x)");
  for (int i = 0; i < 3; ++i) database.execute("INSERT INTO t VALUES(zeroblob(5000000))");
  CHECK(std::filesystem::file_size(folder / "one.db-wal") > 15'000'000);
}

TEST_CASE("threads that open the first connections concurrently find the guard") {
  const TemporaryFolder folder;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&folder, i] {
      Database database(folder / std::to_string(i), Database::Mode::kCreate,
                        std::chrono::milliseconds(0));
      database.execute("CREATE TABLE t(x)");
    });
  }
  threads.clear();
  CHECK(sqlite3_vfs_find(wal_guard_vfs()) != nullptr);
}
