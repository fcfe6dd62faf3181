#include "fossil_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::size_t kMostOutput = std::size_t{64} << 20;

/// Starts WORDS in FOLDER, with OUTPUT for both streams.
Result<pid_t> start(const std::filesystem::path& folder, const std::vector<std::string>& words,
                    int output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int code = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code == 0) return pid;
  errno = code;
  return base::fail_errno("cannot start fossil, which is asked what has changed");
}

Result<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return base::fail_errno("cannot read what fossil says");
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    if (text.size() > kMostOutput) {
      return fail(ErrorCode::kLimit, fmt::format("fossil prints more than {} bytes", kMostOutput));
    }
  }
}

}  // namespace

Result<std::string> ask_fossil(const std::filesystem::path& folder,
                               std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fossil");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("cannot make a pipe");
  const base::Fd reading(ends[0]);
  base::Fd writing(ends[1]);
  QUARRY_TRY_ASSIGN(const pid_t pid, start(folder, arguments, writing.get()));
  writing.reset();
  auto text = read_all(reading.get());
  if (!text) ::kill(pid, SIGTERM);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!text || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return text;
  return fail(ErrorCode::kInvalid, fmt::format("fossil {}: {}", arguments[1],
                                               base::printable(text->substr(0, text->find('\n')))));
}

}  // namespace quarry::app
