#include "quarry/repository/backup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/repository/repository.h"
#include "store/database_copy.h"

namespace quarry::repository {
namespace {

Result<std::unique_ptr<Database>> open_repository(const std::filesystem::path& path) {
  QUARRY_TRY(status_of_file(path));
  return guarded(path, [&]() -> Result<std::unique_ptr<Database>> {
    auto database = open_to_copy(path);
    if (!database->has_table("blob") || !database->has_table("plink")) {
      return fail(ErrorCode::kInvalid, "{}: not a Fossil repository", path.string());
    }
    return database;
  });
}

/// Calls COPY. Error messages contain both file names, because SQLite does not report which file
/// caused the error.
template <typename Copy>
Result<std::int64_t> copying(const std::filesystem::path& from, const std::filesystem::path& to,
                             Copy&& copy) {
  try {
    return copy();
  } catch (const SqliteError& error) {
    return fail(error.to_error(to).code,
                fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.what()));
  }
}

/// If the page sizes of FROM and TO differ, takes TO out of WAL mode, because SQLite cannot change
/// the page size in WAL mode. PATH is the file of TO. Fails with kBusy if another process uses
/// PATH.
Result<void> prepare_page_size(Database& from, Database& to, const std::filesystem::path& path) {
  const bool uses_log = to.first_text("PRAGMA journal_mode") == "wal";
  const auto new_size = from.first_integer("PRAGMA page_size");
  const auto old_size = to.first_integer("PRAGMA page_size");
  if (!uses_log || new_size == old_size) return {};
  try {
    to.set_busy_timeout({});
    to.execute("PRAGMA journal_mode=DELETE");
    to.set_busy_timeout(OpenOptions().busy_timeout);
    return {};
  } catch (const SqliteError& error) {
    if (!error.is_busy()) throw;
    return fail(ErrorCode::kBusy,
                "cannot change the page size of {} from {} to {} bytes while other programs "
                "use the file: stop the server, and restore again",
                path.string(), old_size, new_size);
  }
}

}  // namespace

Result<std::int64_t> back_up(const std::filesystem::path& from, const std::filesystem::path& to,
                             const CopyWatch& watch) {
  QUARRY_TRY_ASSIGN(const struct stat status, status_of_file(from));
  QUARRY_TRY_ASSIGN(const auto original, open_repository(from));
  // Only the owner may read the file, because it contains hashes of passwords.
  const base::Fd file(
      ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return fail_errno("cannot create {}", to.string());
  const auto copied = copying(from, to, [&] {
    auto copy = std::make_unique<Database>(to, Database::Mode::kReadWrite, std::chrono::seconds(0));
    return copy_to_new(*original, std::move(copy), file.get(), watch);
  });
  if (!copied) return copied;
  if (::fchmod(file.get(), status.st_mode & 0777) != 0 || ::fsync(file.get()) != 0) {
    return fail_errno(to.string());
  }
  return copied;
}

Result<bool> is_backup_of(const std::filesystem::path& file,
                          const std::filesystem::path& repository) {
  const auto codes_of = [](Database& database) {
    const auto value = [&database](std::string_view name) {
      return database.first_text("SELECT value FROM config WHERE name=?1", name);
    };
    return std::pair(value("project-code"), value("server-code"));
  };
  QUARRY_TRY_ASSIGN(const auto original, open_repository(repository));
  QUARRY_TRY_ASSIGN(const auto codes, guarded(repository, [&] { return codes_of(*original); }));
  if (!status_of_file(file)) return false;
  const auto codes_of_file = guarded(file, [&] {
    // Open for writing, because only a writable connection removes the write-ahead log when it is
    // closed.
    Database database(file, Database::Mode::kReadWrite, OpenOptions().busy_timeout);
    database.execute("PRAGMA locking_mode=EXCLUSIVE");
    return codes_of(database);
  });
  return codes_of_file && *codes_of_file == codes;
}

Result<std::int64_t> restore_into(const std::filesystem::path& to,
                                  const std::filesystem::path& backup, const CopyWatch& watch) {
  QUARRY_TRY_ASSIGN(const auto original, open_repository(backup));
  const auto copied = copying(backup, to, [&]() -> Result<std::int64_t> {
    Database target(to, Database::Mode::kReadWrite, OpenOptions().busy_timeout);
    QUARRY_TRY(prepare_page_size(*original, target, to));
    return copy_database(*original, target, watch);
  });
  if (!copied) return copied;
  QUARRY_TRY_ASSIGN(const auto restored, Repository::open(to));
  restored->checkpoint();
  return copied;
}

}  // namespace quarry::repository
