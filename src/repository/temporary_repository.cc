#include "quarry/repository/temporary_repository.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/file_system.h"
#include "quarry/base/number.h"

namespace quarry::repository {
namespace {

namespace fs = std::filesystem;

// The ending distinguishes the file from a user's copy with a number at the end of its name.
constexpr std::string_view kEnding = ".tmp";

/// Returns whether NAME is a temporary file, or one of its companion files such as -wal, and the
/// process that has written the file no longer exists. PREFIX is the name up to the process ID.
bool is_abandoned(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const auto pid = base::take_number<pid_t>(name);
  if (!pid || *pid <= 0 || !name.starts_with(kEnding)) return false;
  return *pid == ::getpid() || (::kill(*pid, 0) != 0 && errno == ESRCH);
}

/// Removes the temporary files that killed processes have left. PREFIX is the path of such a file
/// without the process ID.
void remove_abandoned(const fs::path& prefix) {
  std::error_code error;
  for (fs::directory_iterator at(folder_of(prefix), error), end; !error && at != end;
       at.increment(error)) {
    if (is_abandoned(at->path().filename().string(), prefix.filename().string())) {
      ::unlink(at->path().c_str());
    }
  }
}

}  // namespace

std::string folder_of(const std::string& file) {
  std::string folder = std::filesystem::path(file).parent_path();
  return folder.empty() ? "." : folder;
}

TemporaryRepository::TemporaryRepository(std::string file, const char* purpose)
    : file_(std::move(file)), path_(fmt::format("{}.{}-", file_, purpose)) {
  remove_abandoned(path_);
  path_ += fmt::format("{}{}", ::getpid(), kEnding);
}

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

}  // namespace quarry::repository
