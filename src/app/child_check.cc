#include "child_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "quarry/base/fd.h"
#include "quarry/base/log.h"

namespace quarry::app {
namespace {

constexpr std::size_t kMostText = 4096;

base::Result<void> reach(const SocketToReach& socket) {
  if (socket.path.empty()) return {};
  const auto folder = std::filesystem::path(socket.path).parent_path() / ".";
  const bool is_near = ::faccessat(AT_FDCWD, folder.c_str(), X_OK, AT_EACCESS) == 0;
  const bool is_open =
      !socket.is_made || ::faccessat(AT_FDCWD, socket.path.c_str(), W_OK, AT_EACCESS) == 0;
  if (is_near && is_open) return {};
  return base::fail_errno(fmt::format("cannot connect to its pool at {}", socket.path));
}

base::Result<void> begin(const master::ProcessSettings& settings,
                         const std::optional<master::Credentials>& run_as,
                         const SocketToReach& socket) {
  QUARRY_TRY(master::put_in_force(settings, run_as));
  return reach(socket);
}

/// All that is written to FD, up to a bound.
std::string read_all(int fd) {
  std::string text;
  std::array<char, 512> bytes{};
  while (text.size() < kMostText) {
    const ssize_t size = ::read(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

base::Result<void> try_child(const master::ProcessSettings& settings,
                             const std::optional<master::Credentials>& run_as,
                             const SocketToReach& socket) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("cannot make a pipe");
  const base::Fd reading(ends[0]);
  base::Fd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("cannot make a process");
  if (pid == 0) {
    // What is only warned of is told when it happens.
    base::set_log_level(base::LogLevel::kAlert);
    const auto done = begin(settings, run_as, socket);
    const std::string text = done ? "" : done.error().message;
    const ssize_t written = ::write(writing.get(), text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) && done ? 0 : 1);
  }
  writing.reset();
  const std::string text = read_all(reading.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (status == 0) return {};
  return base::fail(base::ErrorCode::kDenied, text.empty() ? "a child cannot begin" : text);
}

}  // namespace quarry::app
