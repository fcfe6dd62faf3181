// Stress test of the guard. Several guarded processes and one unguarded process commit, read,
// checkpoint and are killed. Acknowledged commits must not be lost, and the file must stay intact.
//
//   QUARRY_TEST_SECONDS   duration in seconds (default: 2)
//   QUARRY_TEST_SEED      seed (default: 1)
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "lock_crowd.h"
#include "quarry/base/fd.h"
#include "store/database.h"
#include "store/wal_guard_vfs.h"
#include "store/write_ahead_log.h"
#include "temporary_folder.h"

using namespace quarry::repository;
using quarry::base::Fd;
using quarry::repository::test::from_environment;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t kBound = std::size_t{64} << 10;
constexpr int kGuarded = 4;
constexpr milliseconds kBusyTimeout{2000};

struct StressPlace {
  std::filesystem::path file;
  Fd acknowledged;  // receives the row numbers of all acknowledged commits
};

/// Makes lost commits more likely. A checkpoint pauses after it has read the header of the log, and
/// before it checks how many frames are already copied.
class SlowCheckpoints {
 public:
  static constexpr const char* kVfs = "slow-checkpoints";

  SlowCheckpoints() {
    watched_.on_header_read = [](sqlite3_file*) { pause(); };
  }
  /// Adds the pause to the checkpoints of a guarded connection. Such a connection has a separate,
  /// writable table of methods.
  static void slow_down(sqlite3* handle) {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    auto* methods = const_cast<sqlite3_io_methods*>(file->pMethods);
    usual_ = methods->xUnfetch;
    methods->xUnfetch = [](sqlite3_file* of, sqlite3_int64 offset, void* page) {
      if (page == nullptr && std::rand() % 8 == 0) pause();
      return usual_(of, offset, page);
    };
  }

 private:
  static void pause() { std::this_thread::sleep_for(milliseconds(3)); }

  static inline int (*usual_)(sqlite3_file*, sqlite3_int64, void*) = nullptr;
  test::WatchedVfs watched_{kVfs};
};

/// The work of a process until it is killed. The process exits by itself only after an error.
class Child {
 public:
  Child(const StressPlace& place, std::uint64_t number)
      : place_(place), next_(number << 32), random_(static_cast<unsigned>(number)) {}

  [[noreturn]] void run(bool is_guarded) {
    try {
      while (true) is_guarded ? work_guarded() : work_bare();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "a child: %s\n", error.what());
    }
    ::_exit(1);
  }

 private:
  /// Opens a connection, makes random requests, and closes the connection.
  void work_guarded() {
    Database database(place_.file, Database::Mode::kReadWrite, kBusyTimeout);
    SlowCheckpoints::slow_down(database.handle());
    WriteAheadLog log(database, kBound);
    SingleProcessBarrier barrier;
    database.execute("PRAGMA synchronous=OFF");
    for (int steps = 20 + static_cast<int>(random_() % 200); steps > 0; --steps) {
      const auto choice = random_() % 16;
      try {
        if (choice < 8) {
          insert(database.handle());
        } else if (choice < 10) {
          log.keep_short(barrier, 1);
        } else if (choice == 10) {
          log.truncate();
        } else if (choice == 11) {
          checkpoint(database.handle(), SQLITE_CHECKPOINT_PASSIVE);
        } else if (choice < 14) {
          checkpoint(database.handle(), SQLITE_CHECKPOINT_FULL);
        } else {
          read(database.handle());
        }
        database.set_busy_timeout(kBusyTimeout);
      } catch (const SqliteError& error) {
        if (!error.is_busy()) throw;
      }
    }
  }

  /// Works like a program without the guard. SQLite checkpoints automatically, and also when the
  /// connection is closed.
  void work_bare() {
    sqlite3* handle = nullptr;
    constexpr int kFlags = SQLITE_OPEN_READWRITE;
    if (sqlite3_open_v2(place_.file.c_str(), &handle, kFlags, SlowCheckpoints::kVfs) != SQLITE_OK) {
      throw std::runtime_error("open");
    }
    sqlite3_busy_timeout(handle, static_cast<int>(kBusyTimeout.count()));
    sqlite3_wal_autocheckpoint(handle, 20);
    sqlite3_exec(handle, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);
    for (int steps = static_cast<int>(random_() % 60); steps > 0; --steps) {
      const auto choice = random_() % 8;
      if (choice < 3) insert(handle);
      if (choice == 3) checkpoint(handle, SQLITE_CHECKPOINT_TRUNCATE);
      if (choice == 4) read(handle);
      if (choice > 4) checkpoint(handle, SQLITE_CHECKPOINT_PASSIVE);
    }
    sqlite3_close(handle);
  }

  static bool check(int code, sqlite3* handle) {
    if (code == SQLITE_OK || code == SQLITE_DONE) return true;
    if ((code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED) return false;
    throw std::runtime_error(sqlite3_errmsg(handle));
  }

  static void checkpoint(sqlite3* handle, int mode) {
    for (int tries = 0; tries < 20; ++tries) {
      if (check(sqlite3_wal_checkpoint_v2(handle, nullptr, mode, nullptr, nullptr), handle)) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  void insert(sqlite3* handle) {
    const std::uint64_t number = next_++;
    const std::string sql = "INSERT INTO t VALUES(" + std::to_string(number) + ", randomblob(" +
                            std::to_string(random_() % 6000) + "))";
    if (!check(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), handle)) return;
    if (::write(place_.acknowledged.get(), &number, sizeof number) != sizeof number) ::_exit(2);
  }

  void read(sqlite3* handle) {
    if (!check(sqlite3_exec(handle, "BEGIN; SELECT count(*) FROM t", nullptr, nullptr, nullptr),
               handle)) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 1000));
    check(sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr), handle);
  }

  const StressPlace& place_;
  SlowCheckpoints slow_;
  std::uint64_t next_;
  std::minstd_rand random_;
};

/// All child processes. The first one is unguarded.
class Processes {
 public:
  explicit Processes(const StressPlace& place) : place_(place) {
    for (int i = 0; i <= kGuarded; ++i) pids_.push_back(begin(i));
  }
  ~Processes() {
    for (std::size_t i = 0; i < pids_.size(); ++i) end(i);
  }
  void kill_one(std::size_t which) {
    end(which);
    pids_[which] = begin(static_cast<int>(which));
  }
  std::size_t size() const { return pids_.size(); }
  bool all_were_killed() const { return all_were_killed_; }

 private:
  pid_t begin(int which) {
    ++number_;
    const pid_t pid = ::fork();
    if (pid == 0) Child(place_, number_).run(which != 0);
    return pid;
  }
  void end(std::size_t which) {
    ::kill(pids_[which], SIGKILL);
    int status = 0;
    ::waitpid(pids_[which], &status, 0);
    all_were_killed_ = all_were_killed_ && WIFSIGNALED(status);
  }

  const StressPlace& place_;
  std::vector<pid_t> pids_;
  std::uint64_t number_ = 0;
  bool all_were_killed_ = true;
};

std::set<std::uint64_t> numbers_in(Database& database) {
  std::set<std::uint64_t> numbers;
  Query rows = database.query("SELECT x FROM t");
  while (rows.step()) numbers.insert(static_cast<std::uint64_t>(rows.integer(0)));
  return numbers;
}

}  // namespace

TEST_CASE("acknowledged commits of killed processes and of another program are not lost") {
  const TemporaryFolder folder;
  const auto list = folder / "acknowledged";
  StressPlace place{folder / "stress.db",
                    Fd(::open(list.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600))};
  // This connection stays open like a worker's connection. A child therefore never closes the
  // last connection.
  Database watcher(place.file, Database::Mode::kCreate, kBusyTimeout);
  watcher.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x INTEGER PRIMARY KEY, y)");

  std::minstd_rand random(static_cast<unsigned>(from_environment("QUARRY_TEST_SEED", 1)));
  const auto end =
      steady_clock::now() + std::chrono::seconds(from_environment("QUARRY_TEST_SECONDS", 2));
  std::uintmax_t longest = 0;
  int kills = 0;
  bool all_were_killed = false;
  {
    Processes processes(place);
    while (steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(20 + random() % 60));
      processes.kill_one(random() % processes.size());
      ++kills;
      longest = std::max(longest, std::filesystem::file_size(place.file.string() + "-wal"));
    }
    all_were_killed = processes.all_were_killed();
  }
  CHECK(all_were_killed);

  const auto there = numbers_in(watcher);
  std::ifstream acknowledged(list, std::ios::binary);
  std::size_t count = 0;
  std::size_t lost = 0;
  for (std::uint64_t number = 0;
       acknowledged.read(reinterpret_cast<char*>(&number), sizeof number);) {
    ++count;
    if (!there.contains(number)) ++lost;
  }
  MESSAGE(count << " commits, " << kills << " killed, the log " << longest / 1024
                << " KiB at most");
  CHECK(count > 20);
  CHECK(lost == 0);
  CHECK(longest < 64 * kBound);
  Query sound = watcher.query("PRAGMA integrity_check");
  REQUIRE(sound.step());
  CHECK(sound.text(0) == "ok");
}
