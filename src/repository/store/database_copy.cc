#include "database_copy.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "gathered_writes.h"
#include "quarry/base/transfer.h"
#include "quarry/repository/repository.h"

namespace quarry::repository {
namespace {

// Number of pages to copy between two checks for an interruption: some megabytes.
constexpr int kPagesPerStep = 1000;

// The write version and the read version in a file's header, if the file is not in WAL mode.
constexpr std::uint64_t kVersionsOffset = 18;
constexpr std::string_view kRollbackMode = "\1\1";

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

std::int64_t copy_to_new(Database& from, std::unique_ptr<Database> to, int file,
                         const CopyWatch& watch) {
  // The copy needs neither a journal nor a sync, because the caller removes an incomplete file.
  to->execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
  std::int64_t size = 0;
  {
    GatheredWrites writes(*to, file);
    size = copy_database(from, *to, watch);
    if (const int code = writes.flush(); code != SQLITE_OK) {
      throw SqliteError(code, sqlite3_errstr(code));
    }
  }
  to.reset();
  // If FROM is in WAL mode, the header of the copy says the same of the copy. Change the header
  // here, because SQLite would create a log next to the file.
  if (!base::write_all_at(file, kRollbackMode, kVersionsOffset)) {
    throw SqliteError(SQLITE_IOERR_WRITE, std::strerror(errno));
  }
  return size;
}

}  // namespace quarry::repository
