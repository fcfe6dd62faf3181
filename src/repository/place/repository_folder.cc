#include "quarry/repository/repository_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "quarry/base/fd.h"

namespace quarry::repository {
namespace {

/// Opens PATH below FOLDER. Fails if ".." or a symbolic link leads out of FOLDER.
base::Fd open_beneath(const base::Fd& folder, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < 8; ++tries) {
    const long fd = ::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how);
    // Try again after EAGAIN: because of a concurrent rename, the kernel could not check the path.
    if (fd >= 0 || errno != EAGAIN) return base::Fd(static_cast<int>(fd));
  }
  return {};
}

/// Like fail_errno(), but returns kDenied if permission is missing.
std::unexpected<Error> fail_looking(std::string message) {
  const bool is_denied = errno == EACCES || errno == EPERM;
  auto failure = fail_errno(std::move(message));
  if (is_denied) failure.error().code = ErrorCode::kDenied;
  return failure;
}

constexpr std::string_view kSuffix = ".fossil";

/// Reads FOLDER and its subfolders. Calls ENTERS with the path of each subfolder, and reads the
/// subfolder if ENTERS returns true. Calls FOUND with the path of each file whose name ends in
/// kSuffix. Calls FAILED with each folder that cannot be read, and the reason. The paths that
/// ENTERS and FOUND get are relative to FOLDER.
template <typename Enters, typename Found, typename Failed>
void walk(const std::filesystem::path& folder, Enters&& enters, Found&& found, Failed&& failed) {
  // Maximum number of entries of any kind to read. The folder might be the root of a disk.
  constexpr std::size_t kMaxEntries = 1'000'000;
  std::vector<std::filesystem::path> folders{{}};
  std::size_t entries = 0;
  while (!folders.empty()) {
    const std::filesystem::path below = std::move(folders.back());
    folders.pop_back();
    const std::filesystem::path place = below.empty() ? folder : folder / below;
    std::error_code error;
    std::filesystem::directory_iterator entry(place, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      if (++entries > kMaxEntries) {
        return failed(place, fmt::format("more than {} files were found", kMaxEntries));
      }
      const std::string path = below / entry->path().filename();
      std::error_code ignored;
      if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) {
        if (enters(path)) folders.emplace_back(path);
      } else if (path.ends_with(kSuffix)) {
        found(path);
      }
    }
    if (error) failed(place, error.message());
  }
}

}  // namespace

bool LocatedFile::is_same_now() const {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

Result<LocatedFile> locate(const std::filesystem::path& folder, const RepositoryName& name) {
  const base::Fd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_looking(fmt::format("cannot open the folder {}", folder.string()));
  const base::Fd file = open_beneath(root, name.file());
  if (!file) {
    if (errno == EXDEV) {
      return fail(ErrorCode::kDenied, "{} is outside of {}", name.file(), folder.string());
    }
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG) {
      return fail(ErrorCode::kNotFound, "no such repository");
    }
    return fail_looking(fmt::format("cannot access {} in {}", name.file(), folder.string()));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kNotFound, "no such repository");
  }
  return LocatedFile{folder / name.file(), status.st_dev, status.st_ino};
}

std::vector<RepositoryName> names_below(const std::filesystem::path& folder, std::size_t limit) {
  std::vector<RepositoryName> names;
  walk(
      folder,
      // Skip a folder that is hidden, or whose name cannot be part of a repository name.
      [](const std::string& path) { return RepositoryName::parse(path).has_value(); },
      [&](const std::string& path) {
        if (names.size() >= limit) return;
        auto name = RepositoryName::parse(path.substr(0, path.size() - kSuffix.size()));
        if (name) names.push_back(std::move(*name));
      },
      [](const std::filesystem::path&, const std::string&) {});
  std::ranges::sort(names, {}, &RepositoryName::str);
  return names;
}

FoundFiles files_below(const std::filesystem::path& folder) {
  FoundFiles found;
  walk(
      folder, [](const std::string&) { return true; },
      [&](const std::string& path) { found.files.emplace_back(path); },
      [&](const std::filesystem::path& unread, const std::string& why) {
        found.errors.push_back(
            {ErrorCode::kIo, fmt::format("cannot read the folder {}: {}", unread.string(), why)});
      });
  std::ranges::sort(found.files);
  return found;
}

}  // namespace quarry::repository
