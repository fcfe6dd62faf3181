#include "quarry/repository/backup.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "quarry/base/fd.h"
#include "quarry/repository/repository.h"
#include "schema_version.h"
#include "store/database_copy.h"

namespace quarry::repository {
namespace {

using base::ErrorCode;

/// Opens the repository PATH, and returns its mode in STATUS.
base::Result<std::unique_ptr<Database>> open_repository(const std::filesystem::path& path,
                                                        struct stat& status) {
  if (::stat(path.c_str(), &status) != 0) {
    const auto code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
    return base::fail(code, base::fail_errno(path.string()).error().message);
  }
  return guarded(path, [&]() -> base::Result<std::unique_ptr<Database>> {
    auto database = open_to_copy(path);
    if (!database->has_table("blob") || !database->has_table("plink")) {
      return base::fail(ErrorCode::kInvalid,
                        fmt::format("{}: not a Fossil repository", path.string()));
    }
    return database;
  });
}

/// Calls COPY, and adds both names to the message of an error, because SQLite does not tell which of
/// the files has failed.
template <typename Copy>
base::Result<std::int64_t> copying(const std::filesystem::path& from,
                                   const std::filesystem::path& to, Copy&& copy) {
  try {
    return copy();
  } catch (const SqliteError& error) {
    return base::fail(
        error.to_error(to).code,
        fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.what()));
  }
}

base::Result<void> sync_to_disk(const std::filesystem::path& path, mode_t mode) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fchmod(file.get(), mode & 0777) != 0 || ::fsync(file.get()) != 0) {
    return base::fail_errno(path.string());
  }
  return {};
}

}  // namespace

base::Result<std::int64_t> back_up(const std::filesystem::path& from,
                                   const std::filesystem::path& to, const CopyWatch& watch) {
  struct stat status {};
  QUARRY_TRY_ASSIGN(const auto original, open_repository(from, status));
  // Create the file with this mode, because it contains hashes of passwords.
  if (!base::Fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR))) {
    return base::fail_errno(fmt::format("cannot create {}", to.string()));
  }
  const auto copied = copying(from, to, [&] {
    std::int64_t size = 0;
    {
      Database copy(to, Database::Mode::kReadWrite, OpenOptions().busy_timeout);
      // The caller removes an incomplete file, so it needs neither a journal nor a sync.
      copy.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
      size = copy_database(*original, copy, watch);
    }
    // Otherwise, a reader of the backup would have to be able to write to its folder.
    Database copy(to, Database::Mode::kReadWrite, OpenOptions().busy_timeout);
    copy.execute("PRAGMA synchronous=OFF; PRAGMA journal_mode=DELETE");
    return size;
  });
  if (!copied) return copied;
  QUARRY_TRY(sync_to_disk(to, status.st_mode));
  return copied;
}

base::Result<std::int64_t> restore_into(const std::filesystem::path& to,
                                        const std::filesystem::path& backup,
                                        const CopyWatch& watch) {
  struct stat status {};
  QUARRY_TRY_ASSIGN(const auto original, open_repository(backup, status));
  const auto copied = copying(backup, to, [&] {
    Database target(to, Database::Mode::kReadWrite, OpenOptions().busy_timeout);
    return copy_database(*original, target, watch);
  });
  if (!copied) return copied;
  QUARRY_TRY_ASSIGN(const auto restored, Repository::open(to));
  restored->checkpoint();
  return copied;
}

}  // namespace quarry::repository
