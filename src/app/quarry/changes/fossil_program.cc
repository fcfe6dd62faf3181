#include "fossil_program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/spawn.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::size_t kMostOutput = std::size_t{64} << 20;

/// Starts WORDS in FOLDER, with OUTPUT for both streams.
Result<pid_t> start(const std::filesystem::path& folder, std::vector<std::string> words,
                    int output) {
  const base::Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return base::fail_errno("/dev/null");
  base::Launch launch{.words = std::move(words)};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    launch.environment.emplace_back(*variable);
  }
  launch.descriptors = {nothing.get(), output, output};
  launch.folder = folder.string();
  auto pid = base::spawn(launch);
  if (pid) return pid;
  return fail(pid.error().code,
              fmt::format("fossil, which is asked what has changed: {}", pid.error().message));
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
