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
#include "quarry/master/process_setup.h"

namespace quarry::app {
namespace {

constexpr std::size_t kMostText = 4096;

bool may(int what, const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
}

base::Result<void> reach(const Reached& reached) {
  const std::string& socket = reached.socket;
  const auto folder = std::filesystem::path(socket).parent_path() / ".";
  const bool is_connected =
      socket.empty() || (may(X_OK, folder) && (!reached.is_socket_made || may(W_OK, socket)));
  if (!is_connected) {
    return base::fail_errno(fmt::format("cannot connect to its pool at {}", socket));
  }
  if (!reached.repository.empty() && !may(F_OK, reached.repository)) {
    return base::fail_errno(fmt::format("cannot reach its repository {}", reached.repository));
  }
  // Names are looked up in it, which is not listed.
  if (!reached.repositories.empty() && !may(X_OK, reached.repositories)) {
    return base::fail_errno(
        fmt::format("cannot enter the folder of its repositories {}", reached.repositories));
  }
  return {};
}

base::Result<void> begin(const master::ProcessSettings& settings,
                         const std::optional<master::Credentials>& run_as, const Reached& reached) {
  QUARRY_TRY(master::put_in_force(settings, run_as));
  return reach(reached);
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
                             const Reached& reached) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("cannot make a pipe");
  const base::Fd reading(ends[0]);
  base::Fd writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("cannot make a process");
  if (pid == 0) {
    // What is only warned of is told when it happens.
    base::set_log_level(base::LogLevel::kAlert);
    const auto done = begin(settings, run_as, reached);
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
