// Reads tarballs in a child process. The child writes the contents of files to a file that both
// processes have open, and everything else to a pipe (packing.h), preceded by its size in 8 bytes.
// The parent trusts none of it, since a hostile tarball may have taken over the child.
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
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checked_content.h"
#include "confinement.h"
#include "packing.h"
#include "quarry/base/fd.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"
#include "utf8_locale.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

/// In case the disk hangs; CPU time is limited separately.
constexpr std::chrono::minutes kPatience{5};

/// A child that is killed with its owner.
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

  Result<int> end() override { return base::wait_for_end(std::exchange(pid_, -1)).value_or(0); }

 private:
  pid_t pid_;
};

/// Reads everything from PIPE, up to LIMIT bytes; nothing if there is more or it takes too long.
std::optional<std::string> read_all(int pipe, std::size_t limit) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string all;
  std::array<char, 65536> buffer{};
  while (all.size() <= limit && std::chrono::steady_clock::now() < end) {
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

/// Writes TEXT to PIPE, preceded by its size.
void send_message(int pipe, std::string_view text) {
  const std::uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = ::write(pipe, rest.data(), rest.size());
    if (written < 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Takes the next message off REST; empty if it is incomplete.
std::string_view next_message(std::string_view& rest) {
  std::uint64_t size = 0;
  if (rest.size() < sizeof size) return {};
  std::memcpy(&size, rest.data(), sizeof size);
  rest.remove_prefix(sizeof size);
  const std::string_view text = size <= rest.size() ? rest.substr(0, size) : std::string_view();
  rest.remove_prefix(text.size());
  return text;
}

Result<ChangeSetContent> content_of(std::string_view message, base::Fd contents,
                                    const TarballLimits& limits) {
  struct stat status {};
  if (::fstat(contents.get(), &status) != 0)
    return base::fail_errno("cannot look at what the tarball holds");
  QUARRY_TRY_ASSIGN(auto entries,
                    unpacked(message, static_cast<std::uint64_t>(status.st_size), limits));
  return checked_content(std::move(entries), std::move(contents));
}

}  // namespace

void read_as_child(std::span<const int> tarballs, const TarballLimits& limits,
                   std::span<const int> contents, int pipe) {
  std::vector<int> kept = {pipe};
  kept.insert(kept.end(), tarballs.begin(), tarballs.end());
  kept.insert(kept.end(), contents.begin(), contents.end());
  const Utf8Locale locale;  // its files cannot be opened after confine()
  const bool is_confined = confine(kept, {});
  const auto refused = base::fail_errno("the reader of tarballs cannot be confined");
  for (std::size_t i = 0; i < tarballs.size(); ++i) {
    std::string message;
    try {
      message =
          is_confined ? packed(read_entries(tarballs[i], limits, contents[i])) : packed(refused);
    } catch (const std::bad_alloc&) {
      message = packed(fail(ErrorCode::kLimit, "reading the tarball takes too much memory"));
    }
    send_message(pipe, message);
  }
  ::_exit(0);
}

Result<std::vector<Result<ChangeSetContent>>> read_by(const StartReader& start, std::size_t count,
                                                      const TarballLimits& limits,
                                                      const std::filesystem::path& folder) {
  std::vector<base::Fd> contents;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    QUARRY_TRY_ASSIGN(auto file, make_contents_file(folder));
    numbers.push_back(file.get());
    contents.push_back(std::move(file));
  }
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  QUARRY_TRY_ASSIGN(const auto reader, start(numbers, pipe.writing.get()));
  pipe.writing.reset();
  const std::size_t limit = kMaxMeta + (limits.entries + 1) * (kMaxName + 64);
  const auto messages = read_all(pipe.reading.get(), count * limit);
  if (!messages)
    return fail(ErrorCode::kLimit, "reading the tarball takes too long, or tells too much");
  QUARRY_TRY_ASSIGN(const int end, reader->end());
  if (WIFSIGNALED(end)) return killed(WTERMSIG(end));
  std::vector<Result<ChangeSetContent>> read;
  std::string_view rest = *messages;
  for (base::Fd& each : contents)
    read.push_back(content_of(next_message(rest), std::move(each), limits));
  return read;
}

Result<ChangeSetContent> read_tarball_apart(int tarball, const TarballLimits& limits,
                                            const std::filesystem::path& folder) {
  const auto start = [&](std::span<const int> contents,
                         int pipe) -> Result<std::unique_ptr<Reader>> {
    const pid_t pid = ::fork();
    if (pid < 0) return base::fail_errno("cannot start the reader of a tarball");
    if (pid == 0) read_as_child(std::array{tarball}, limits, contents, pipe);
    return std::make_unique<Child>(pid);
  };
  QUARRY_TRY_ASSIGN(auto read, read_by(start, 1, limits, folder));
  return std::move(read.front());
}

}  // namespace quarry::changes
