#include "log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "quarry/base/log.h"

namespace quarry::repository {

bool may_write(const std::filesystem::path& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 || errno == ENOENT;
}

std::filesystem::path with_suffix(const std::filesystem::path& path, const char* suffix) {
  return path.string() + suffix;
}

void mend_modes_of_log(const std::filesystem::path& path, mode_t mode) {
  if (!may_write(path)) return;
  for (const char* suffix : kLogFiles) {
    const std::filesystem::path file = with_suffix(path, suffix);
    struct stat found {};
    const bool is_ours = ::lstat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
                         found.st_uid == ::geteuid() && !may_write(file);
    if (!is_ours || ::fchmodat(AT_FDCWD, file.c_str(), mode & 0777, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    base::log(base::LogLevel::kNotice,
              "{}: mode changed from {:04o} to {:04o}, to match the repository", file.string(),
              found.st_mode & 0777, mode & 0777);
  }
}

std::vector<std::filesystem::path> unwritable_files(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  for (const char* suffix : {"", kLogFiles[0], kLogFiles[1]}) {
    if (!may_write(with_suffix(path, suffix))) files.push_back(with_suffix(path, suffix));
  }
  return files;
}

}  // namespace quarry::repository
