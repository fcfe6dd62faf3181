#include "temporary_repository.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/file_system.h"

namespace quarry::app {

std::string folder_of(const std::string& file) {
  std::string folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder;
}

TemporaryRepository::TemporaryRepository(std::string file, const char* purpose)
    : file_(std::move(file)), path_(fmt::format("{}.{}-{}", file_, purpose, ::getpid())) {}

TemporaryRepository::~TemporaryRepository() {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path_ + suffix).c_str());
}

Error TemporaryRepository::with_file_name(Error error) const {
  const std::size_t at = error.message.find(path_);
  if (at != std::string::npos) error.message.replace(at, path_.size(), file_);
  return error;
}

Result<void> TemporaryRepository::move(bool replaces) {
  const base::Fd made(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!made || ::fsync(made.get()) != 0) return fail_errno(file_);
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, file_.c_str(),
                  replaces ? 0 : RENAME_NOREPLACE) != 0) {
    return fail_errno(file_);
  }
  // Ignore errors, because the file is already complete. A folder without read permission, for
  // example, cannot be synced.
  (void)base::FileSystem::real().sync_directory(folder_of(file_));
  return {};
}

}  // namespace quarry::app
