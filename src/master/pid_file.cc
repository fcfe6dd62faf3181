#include "quarry/master/pid_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "quarry/base/fd.h"
#include "quarry/base/number.h"

namespace quarry::master {
namespace {

// Do not follow links, because other users might have write access to the folder. Do not block on a
// FIFO.
constexpr int kCarefully = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

std::string name_of(const std::string& process) {
  std::string name;
  std::ifstream comm("/proc/" + process + "/comm");
  std::getline(comm, name);
  return name;
}

/// Returns whether PROCESS is a zombie.
bool has_ended(const std::string& process) {
  std::string text;
  std::ifstream stat("/proc/" + process + "/stat");
  std::getline(stat, text);
  // Search for the last parenthesis, because the name before the state can contain any characters.
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return true;
  const char state = text[name_end + 2];
  return state == 'Z' || state == 'X';
}

/// Returns the process id in the pid file FD if the process runs this program and is not SELF.
/// Returns 0 for any other process.
pid_t living_process_in(const base::Fd& fd, pid_t self) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(fd.get(), text.data(), text.size(), 0);
  if (size <= 0) return 0;
  std::string_view number(text.data(), static_cast<std::size_t>(size));
  const pid_t pid = base::take_number<pid_t>(number).value_or(0);
  if (pid <= 0 || pid == self) return 0;
  const std::string process = std::to_string(pid);
  const std::string name = name_of(process);
  return !name.empty() && name == name_of("self") && !has_ended(process) ? pid : 0;
}

std::unexpected<Error> cannot_write(const std::string& path) {
  return fail_errno("cannot write the pid file {}", path);
}

Result<base::Fd> open_pid_file(const std::string& path, int flags) {
  base::Fd fd(::open(path.c_str(), flags | kCarefully, 0644));
  if (!fd) return cannot_write(path);
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) return fd;
  return fail(ErrorCode::kInvalid, "the pid file {} is not a regular file", path);
}

Result<void> check_owner(const base::Fd& fd, const std::string& path, pid_t self) {
  const pid_t other = living_process_in(fd, self);
  if (other == 0) return {};
  return fail(ErrorCode::kBusy, "the pid file {} belongs to process {}, a running quarryd", path,
              other);
}

}  // namespace

Result<void> check_pid_file(const std::string& path, pid_t self) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    QUARRY_TRY_ASSIGN(const base::Fd fd, open_pid_file(path, O_RDWR));
    return check_owner(fd, path, self);
  }
  const std::string folder = std::filesystem::path(path).parent_path();
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  return cannot_write(path);
}

Result<void> write_pid_file(const std::string& path) {
  QUARRY_TRY_ASSIGN(const base::Fd file, open_pid_file(path, O_RDWR | O_CREAT));
  QUARRY_TRY(check_owner(file, path, ::getpid()));
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return cannot_write(path);
  }
  return {};
}

}  // namespace quarry::master
