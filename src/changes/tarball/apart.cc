// Reading a tarball in a child. It writes the files' contents to a file that both have open, and the
// rest into a pipe (packing.h). None of it is believed: it may be what a hostile tarball made of the
// child.
#include "apart.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "checked_content.h"
#include "confinement.h"
#include "packing.h"
#include "quarry/base/fd.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

/// A disk that stands still is no reason to wait for ever; time of the processor has its own bound.
constexpr std::chrono::minutes kPatience{5};

/// A child that does not outlive its owner.
class Child final : public Reader {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() override {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    static_cast<void>(end());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Result<int> end() override {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

/// Everything that comes through PIPE, up to MOST bytes; nothing where there is more, or it takes too long.
std::optional<std::string> read_all(int pipe, std::size_t most) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string all;
  std::array<char, 65536> buffer{};
  while (all.size() <= most && std::chrono::steady_clock::now() < end) {
    pollfd ready{pipe, POLLIN, 0};
    if (::poll(&ready, 1, 1000) <= 0) continue;
    const ssize_t size = ::read(pipe, buffer.data(), buffer.size());
    if (size == 0) return all;
    if (size > 0) all.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

std::unexpected<base::Error> killed(int signal) {
  if (signal == SIGXCPU) return fail(ErrorCode::kLimit, "reading the tarball takes too long");
  return fail(ErrorCode::kInvalid,
              fmt::format("the reader of the tarball was ended by signal {}", signal));
}

}  // namespace

void read_as_child(int tarball, const TarballLimits& limits, int contents, int pipe) {
  std::string told;
  try {
    const Utf8Locale locale;  // its files cannot be opened later
    if (!confine(std::array{tarball, contents, pipe}, {})) {
      told = packed(base::fail_errno("the reader of tarballs cannot be confined"));
    } else {
      told = packed(read_entries(tarball, limits, contents));
    }
  } catch (const std::bad_alloc&) {
    told = packed(fail(ErrorCode::kLimit, "reading the tarball takes too much memory"));
  }
  for (std::string_view rest = told; !rest.empty();) {
    const ssize_t size = ::write(pipe, rest.data(), rest.size());
    if (size < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  ::_exit(0);
}

Result<ChangeSetContent> read_by(const StartReader& start, const TarballLimits& limits,
                                 const std::filesystem::path& folder) {
  QUARRY_TRY_ASSIGN(auto contents, make_contents_file(folder));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::fail_errno("pipe");
  base::Fd from(ends[0]);
  base::Fd to(ends[1]);
  QUARRY_TRY_ASSIGN(const auto reader, start(contents.get(), to.get()));
  to.reset();
  const std::size_t most = kMostMeta + (limits.entries + 1) * (kMostName + 64);
  const auto told = read_all(from.get(), most);
  if (!told)
    return fail(ErrorCode::kLimit, "reading the tarball takes too long, or tells too much");
  QUARRY_TRY_ASSIGN(const int end, reader->end());
  if (WIFSIGNALED(end)) return killed(WTERMSIG(end));
  struct stat status {};
  if (::fstat(contents.get(), &status) != 0)
    return base::fail_errno("cannot look at what the tarball holds");
  QUARRY_TRY_ASSIGN(auto entries,
                    unpacked(*told, static_cast<std::uint64_t>(status.st_size), limits));
  return checked_content(std::move(entries), std::move(contents));
}

Result<ChangeSetContent> read_tarball_apart(int tarball, const TarballLimits& limits,
                                            const std::filesystem::path& folder) {
  const auto start = [&](int contents, int pipe) -> Result<std::unique_ptr<Reader>> {
    const pid_t pid = ::fork();
    if (pid < 0) return base::fail_errno("cannot start the reader of a tarball");
    if (pid == 0) read_as_child(tarball, limits, contents, pipe);
    return std::make_unique<Child>(pid);
  };
  return read_by(start, limits, folder);
}

}  // namespace quarry::changes
