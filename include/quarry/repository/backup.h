// Backs up a repository that can be in use, and restores it from a backup.
//
// back_up() and restore_into() copy the pages of one read transaction, so the copy is the source
// file as it was at the beginning. Other processes can read and write the source meanwhile. The
// functions use SQLite's backup API, because a copy by any other program can mix old and new pages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "quarry/base/result.h"

namespace quarry::repository {

/// Optional callbacks. After IS_INTERRUPTED has returned true, a copy fails with kIo.
struct CopyWatch {
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // in bytes
  std::function<bool()> is_interrupted;
};

/// Copies the repository FROM into the new file TO, and syncs TO to disk. TO must not exist. TO is
/// a single file without a write-ahead log, and gets the mode of FROM. Does not remove TO after an
/// error. Returns the size of TO in bytes. Errors: kNotFound, kInvalid, kBusy, kNoSpace, kIo.
Result<std::int64_t> back_up(const std::filesystem::path& from, const std::filesystem::path& to,
                             const CopyWatch& watch = {});

/// Returns whether FILE is a backup of REPOSITORY, that is, whether FILE and REPOSITORY have the
/// same project code and server code. Returns false if FILE cannot be read. Errors (of REPOSITORY):
/// kNotFound, kInvalid, kBusy, kIo.
Result<bool> is_backup_of(const std::filesystem::path& file,
                          const std::filesystem::path& repository);

/// Replaces the whole content of the repository TO with the content of BACKUP, in one transaction:
/// after an error, TO is unchanged. TO can be in use. TO keeps its owner and mode. Returns the size
/// of BACKUP in bytes. Errors: kNotFound, kInvalid, kBusy, kNoSpace, kIo.
Result<std::int64_t> restore_into(const std::filesystem::path& to,
                                  const std::filesystem::path& backup, const CopyWatch& watch = {});

}  // namespace quarry::repository
