#include "quarry/base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "quarry/base/fd.h"
#include "quarry/base/transfer.h"

namespace quarry::base {
namespace {

namespace fs = std::filesystem;

ErrorCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kDenied;
    case EROFS:
      return ErrorCode::kReadOnly;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::kNoSpace;
    case EEXIST:
      return ErrorCode::kBusy;
    default:
      return ErrorCode::kIo;
  }
}

/// Returns the error for errno. The message contains PATH.
std::unexpected<Error> refused(const fs::path& path) {
  const int error = errno;
  return fail(code_of(error), path.string() + ": " + std::generic_category().message(error));
}

class RealFile final : public File {
 public:
  RealFile(Fd fd, fs::path path, const struct stat& status)
      : fd_(std::move(fd)), path_(std::move(path)), device_(status.st_dev), inode_(status.st_ino) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> buffer) override {
    const ssize_t count = read_all_at(fd_.get(), buffer, offset);
    if (count < 0) return refused(path_);
    return static_cast<std::size_t>(count);
  }

  Result<void> append(std::string_view bytes) override {
    if (write_all(fd_.get(), bytes)) return {};
    return refused(path_);
  }

  Result<void> truncate(std::uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) == 0) return {};
    return refused(path_);
  }

  Result<std::uint64_t> size() override {
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) return refused(path_);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<void> sync() override {
    if (::fdatasync(fd_.get()) == 0) return {};
    return refused(path_);
  }

  Result<bool> has_name() override {
    struct stat status {};
    if (::lstat(path_.c_str(), &status) == 0) {
      return status.st_dev == device_ && status.st_ino == inode_;
    }
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return refused(path_);
  }

  // Use an open file description lock, because it belongs to this File instead of the process.
  // is_locked() can test such a lock without taking it.
  Result<bool> try_lock() override {
    struct flock lock = whole_file();
    if (::fcntl(fd_.get(), F_OFD_SETLK, &lock) == 0) return true;
    if (errno == EAGAIN || errno == EACCES) return false;
    return refused(path_);
  }

  Result<bool> is_locked() override {
    struct flock lock = whole_file();
    if (::fcntl(fd_.get(), F_OFD_GETLK, &lock) == 0) return lock.l_type != F_UNLCK;
    return refused(path_);
  }

 private:
  static struct flock whole_file() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
  }

  Fd fd_;
  fs::path path_;
  dev_t device_;
  ino_t inode_;
};

int flags_of(FileUse use) {
  switch (use) {
    case FileUse::kRead:
      return O_RDONLY;
    case FileUse::kAppend:
      return O_RDWR | O_APPEND;
    case FileUse::kMake:
      return O_RDWR | O_APPEND | O_CREAT | O_EXCL;
    case FileUse::kOpenOrMake:
      return O_RDWR | O_APPEND | O_CREAT;
  }
  return O_RDONLY;
}

// Concurrent syncs are faster, because the file system's journal commits them together.
constexpr std::size_t kSyncsAtOnce = 8;

/// Blocks signals in the constructor, so that new threads do not receive them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Calls ACTION with each number below COUNT, in several threads.
template <typename Action>
Result<void> for_each_at_once(std::size_t count, const Action& action) {
  std::atomic<std::size_t> next = 0;
  std::vector<Result<void>> outcomes(count);
  const auto do_some = [&] {
    for (std::size_t at = next++; at < count; at = next++) outcomes[at] = action(at);
  };
  {
    const SignalsBlocked blocked;
    std::vector<std::jthread> threads;
    try {
      while (threads.size() + 1 < std::min(count, kSyncsAtOnce)) threads.emplace_back(do_some);
    } catch (const std::system_error&) {
      // The system does not allow more threads. Use the existing ones.
    }
    do_some();
  }
  for (Result<void>& outcome : outcomes) QUARRY_TRY(std::move(outcome));
  return {};
}

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const fs::path& path, FileUse use) override {
    // Do not block if the path is a FIFO.
    Fd fd(::open(path.c_str(), flags_of(use) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    // open(2) fails with one of these errors for a folder, a symbolic link or a socket.
    const bool is_other_type = !fd && (errno == EISDIR || errno == ELOOP || errno == ENXIO);
    if (!fd && !is_other_type) return refused(path);
    struct stat status {};
    if (fd && ::fstat(fd.get(), &status) != 0) return refused(path);
    if (is_other_type || !S_ISREG(status.st_mode))
      return fail(ErrorCode::kInvalid, path.string() + ": not a regular file");
    return std::make_unique<RealFile>(std::move(fd), path, status);
  }

  Result<void> rename(const fs::path& from, const fs::path& to) override {
    if (::rename(from.c_str(), to.c_str()) == 0) return {};
    return refused(to);
  }

  Result<void> remove(const fs::path& path) override {
    if (::unlink(path.c_str()) == 0) return {};
    return refused(path);
  }

  Result<std::vector<std::string>> list(const fs::path& folder) override {
    std::vector<std::string> names;
    QUARRY_TRY(visit(folder, [&names](std::string_view name) { names.emplace_back(name); }));
    return names;
  }

  Result<void> visit(const fs::path& folder,
                     const std::function<void(std::string_view name)>& take) override {
    struct Close {
      void operator()(DIR* stream) const { ::closedir(stream); }
    };
    const std::unique_ptr<DIR, Close> stream(::opendir(folder.c_str()));
    if (!stream) return refused(folder);
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") take(name);
    }
    return errno == 0 ? Result<void>() : refused(folder);
  }

  Result<void> make_folder(const fs::path& folder) override {
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
    return refused(folder);
  }

  Result<void> sync_directory(const fs::path& folder) override {
    const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) return refused(folder);
    return {};
  }

  Result<void> sync_all(std::span<File* const> files) override {
    return for_each_at_once(files.size(), [&](std::size_t i) { return files[i]->sync(); });
  }

  Result<void> sync_directories(std::span<const fs::path> folders) override {
    return for_each_at_once(folders.size(),
                            [&](std::size_t i) { return sync_directory(folders[i]); });
  }
};

}  // namespace

Result<void> FileSystem::visit(const fs::path& folder,
                               const std::function<void(std::string_view name)>& take) {
  QUARRY_TRY_ASSIGN(const auto names, list(folder));
  for (const std::string& name : names) take(name);
  return {};
}

Result<void> FileSystem::sync_all(std::span<File* const> files) {
  for (File* const file : files) QUARRY_TRY(file->sync());
  return {};
}

Result<void> FileSystem::sync_directories(std::span<const fs::path> folders) {
  for (const fs::path& folder : folders) QUARRY_TRY(sync_directory(folder));
  return {};
}

FileSystem& FileSystem::real() {
  static RealFileSystem system;
  return system;
}

Result<std::filesystem::file_type> type_of_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (!error || type == std::filesystem::file_type::not_found) return type;
  return fail(error == std::errc::permission_denied ? ErrorCode::kDenied : ErrorCode::kIo,
              "cannot access {}: {}", path.string(), error.message());
}

}  // namespace quarry::base
