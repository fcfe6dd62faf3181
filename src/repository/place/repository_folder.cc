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
// Maximum depth of folders if links are followed, because they can form cycles.
constexpr std::ptrdiff_t kMaxLinkDepth = 8;

/// Reads FOLDER and its subfolders. LINKS says whether to follow symbolic links to folders. Calls
/// ENTERS with the path of each subfolder, and reads the subfolder if ENTERS returns true. Calls
/// FOUND with the path of each file whose name ends in kSuffix. Leaves out a file with only kSuffix
/// as its name, which holds fossil's settings in a user's home folder. Calls FAILED with an error
/// for each folder that cannot be read. The paths that ENTERS and FOUND get are relative to FOLDER.
template <typename Enters, typename Found, typename Failed>
void walk(const std::filesystem::path& folder, FolderLinks links, Enters&& enters, Found&& found,
          Failed&& failed) {
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
        return failed({ErrorCode::kLimit,
                       fmt::format("cannot read the folder {}: more than {} files were found",
                                   folder.string(), kMaxEntries)});
      }
      const std::string path = below / entry->path().filename();
      std::error_code ignored;
      const bool is_link = entry->is_symlink(ignored);
      if (entry->is_directory(ignored) && (!is_link || links == FolderLinks::kFollow)) {
        const bool is_deep =
            links == FolderLinks::kFollow && std::ranges::count(path, '/') >= kMaxLinkDepth;
        if (!is_deep && enters(path)) folders.emplace_back(path);
      } else if (path.ends_with(kSuffix) && entry->path().filename() != kSuffix) {
        found(path);
      }
    }
    if (!error) continue;
    failed({error == std::errc::permission_denied ? ErrorCode::kDenied : ErrorCode::kIo,
            fmt::format("cannot read the folder {}: {}", place.string(), error.message())});
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

FoundNames names_below(const std::filesystem::path& folder, std::size_t limit, FolderLinks links) {
  FoundNames found;
  walk(
      folder, links,
      // Skip a folder that is hidden, or whose name cannot be part of a repository name. Queues
      // contain many files but no repositories.
      [](const std::string& path) {
        return !path.ends_with(".changes") && RepositoryName::parse(path).has_value();
      },
      [&](const std::string& path) {
        if (found.names.size() >= limit) return;
        auto name = RepositoryName::parse(path.substr(0, path.size() - kSuffix.size()));
        if (name) found.names.push_back(std::move(*name));
      },
      [&](Error error) { found.errors.push_back(std::move(error)); });
  std::ranges::sort(found.names, {}, &RepositoryName::str);
  return found;
}

FoundFiles files_below(const std::filesystem::path& folder) {
  FoundFiles found;
  walk(
      folder, FolderLinks::kSkip, [](const std::string&) { return true; },
      [&](const std::string& path) { found.files.emplace_back(path); },
      [&](Error error) { found.errors.push_back(std::move(error)); });
  std::ranges::sort(found.files);
  return found;
}

}  // namespace quarry::repository
