#include "database_copy.h"

#include "quarry/repository/repository.h"

namespace quarry::repository {
namespace {

// Number of pages that are copied before the caller is asked whether to stop: some megabytes.
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
  // Without a read transaction of its own, the copy would start again after each commit of another
  // process.
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

}  // namespace quarry::repository
