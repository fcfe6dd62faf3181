#include "database_copy.h"

#include "quarry/repository/repository.h"

namespace quarry::repository {
namespace {

// Number of pages to copy between two checks for an interruption: some megabytes.
constexpr int kPagesPerStep = 1000;

}  // namespace

std::unique_ptr<Database> open_to_copy(const std::filesystem::path& path) {
  const auto timeout = OpenOptions().busy_timeout;
  auto original = std::make_unique<Database>(path, Database::Mode::kReadOnly, timeout);
  try {
    original->has_table("blob");
  } catch (const SqliteError& error) {
    if (!error.is_read_only()) throw;
    original = std::make_unique<Database>(path, Database::Mode::kReadWrite, timeout);
  }
  return original;
}

std::int64_t copy_database(Database& from, Database& to, const CopyWatch& watch) {
  struct Backup {
    sqlite3_backup* handle;
    ~Backup() { sqlite3_backup_finish(handle); }
  };
  // Begin a read transaction, because otherwise the copy would start again after each commit of
  // another process.
  from.execute("BEGIN; SELECT count(*) FROM sqlite_schema");
  const std::int64_t page_size = from.first_integer("PRAGMA page_size");
  std::int64_t pages = 0;
  {
    const Backup backup{sqlite3_backup_init(to.handle(), "main", from.handle(), "main")};
    if (backup.handle == nullptr) to.raise(sqlite3_errcode(to.handle()));
    int code = SQLITE_OK;
    while (code == SQLITE_OK) {
      if (watch.is_interrupted && watch.is_interrupted()) {
        throw SqliteError(SQLITE_INTERRUPT, "interrupted");
      }
      code = sqlite3_backup_step(backup.handle, kPagesPerStep);
      pages = sqlite3_backup_pagecount(backup.handle);
      if (watch.progress) {
        watch.progress((pages - sqlite3_backup_remaining(backup.handle)) * page_size,
                       pages * page_size);
      }
    }
    if (code != SQLITE_DONE) throw SqliteError(code, sqlite3_errstr(code));
  }
  from.execute("COMMIT");
  return pages * page_size;
}

std::int64_t copy_to_file(Database& from, const std::filesystem::path& path,
                          const CopyWatch& watch) {
  const auto timeout = OpenOptions().busy_timeout;
  std::int64_t size = 0;
  {
    Database copy(path, Database::Mode::kReadWrite, timeout);
    // The copy needs neither a journal nor a sync, because the caller removes an incomplete file.
    copy.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
    size = copy_database(from, copy, watch);
  }
  // If FROM is in WAL mode, the copy is in WAL mode too. Leave this mode, because a reader would
  // have to create files in the copy's folder. Use exclusive mode, in which SQLite does not map a
  // -shm file: on a full disk, access to the mapping would kill the process.
  Database copy(path, Database::Mode::kReadWrite, timeout);
  copy.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF");
  return size;
}

}  // namespace quarry::repository
