// Reads tarballs in forked processes (readers). A reader writes the contents of each tarball to a
// file that it shares with the process that owns the TarballReaders. The reader writes all other
// data to a pipe (packing.h). In the pipe, the entries of each tarball are preceded by their size,
// an 8-byte number. The output of a reader is not trusted, because a hostile tarball might have
// taken over the reader.
//
// A helper process forks the readers. For each reader, the helper receives an order: the limits
// and, as descriptors, the pipe, the tarballs, and a file for the contents of each tarball. The
// helper forks the reader, waits until it exits, and answers with its exit status. Therefore, only
// one reader runs at a time. Before the first order, the helper sends an answer to report that it
// is running and has closed all other files.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "confinement.h"
#include "packing.h"
#include "quarry/base/descriptor_message.h"
#include "quarry/base/fd.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "quarry/base/transfer.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"
#include "utf8_locale.h"

namespace quarry::changes {
namespace {

constexpr int kFailed = 1;
/// Time limit for reading the output of a reader, in case the disk does not respond. CPU time is
/// limited separately.
constexpr std::chrono::minutes kPatience{5};

static_assert(1 + 2 * TarballReaders::kMax <= base::kMaxDescriptors);
static_assert(std::is_trivially_copyable_v<TarballLimits>);

void send_message(int pipe, std::string_view text) {
  const std::uint64_t size = text.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += text;
  base::write_all(pipe, bytes);
}

/// Removes the next message from the front of REST and returns it. Returns an empty string if the
/// message is incomplete.
std::string_view next_message(std::string_view& rest) {
  std::uint64_t size = 0;
  if (rest.size() < sizeof size) return {};
  std::memcpy(&size, rest.data(), sizeof size);
  rest.remove_prefix(sizeof size);
  const std::string_view text = size <= rest.size() ? rest.substr(0, size) : std::string_view();
  rest.remove_prefix(text.size());
  return text;
}

/// The main function of a reader.
[[noreturn]] void read_as_child(std::span<const int> tarballs, const TarballLimits& limits,
                                std::span<const int> contents, int pipe) {
  std::vector<int> kept = {pipe};
  kept.insert(kept.end(), tarballs.begin(), tarballs.end());
  kept.insert(kept.end(), contents.begin(), contents.end());
  const Utf8Locale locale;  // before confine(), which prevents opening the locale's files
  const bool is_confined = confine(kept, {});
  const auto refused = fail_errno("cannot sandbox the tarball reader");
  for (std::size_t i = 0; i < tarballs.size(); ++i) {
    std::string message;
    try {
      message =
          is_confined ? packed(read_entries(tarballs[i], limits, contents[i])) : packed(refused);
    } catch (const std::bad_alloc&) {
      message = packed(fail(ErrorCode::kLimit, "reading the tarball used too much memory"));
    }
    send_message(pipe, message);
  }
  ::_exit(0);
}

/// Receives an order. Returns false if the owner has exited.
bool receive_order(int socket, TarballLimits& limits, std::vector<int>& descriptors) {
  descriptors.resize(1 + 2 * TarballReaders::kMax);
  descriptors.resize(base::receive_descriptors(
      socket, std::as_writable_bytes(std::span(&limits, 1)), descriptors));
  return descriptors.size() % 2 == 1 && descriptors.size() > 1;
}

bool answer(int socket, int status) {
  return ::send(socket, &status, sizeof status, MSG_NOSIGNAL) == sizeof status;
}

/// The main function of the helper.
[[noreturn]] void fork_readers(int socket, pid_t owner) {
  sigset_t all;
  ::sigfillset(&all);
  // Block all signals, so that the helper ignores signals from the terminal or to the process
  // group. The helper exits when its owner exits.
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != owner) ::_exit(kFailed);
  base::close_all_but(std::array{socket});
  // Load the locale once, so that the readers, which are forked later, inherit it.
  const Utf8Locale locale;
  TarballLimits limits;
  std::vector<int> descriptors;
  int status = 0;
  while (answer(socket, status) && receive_order(socket, limits, descriptors)) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const auto files = std::span(descriptors).subspan(1);
      const std::size_t count = files.size() / 2;
      read_as_child(files.first(count), limits, files.last(count), descriptors[0]);
    }
    for (const int each : descriptors) ::close(each);
    // If fork() has failed, report a killed reader, because the tarball is not the cause of the
    // failure.
    status = pid > 0 ? base::wait_for_end(pid).value_or(SIGKILL) : SIGKILL;
  }
  ::_exit(0);
}

/// Returns the helper's next answer, or an error if the helper has exited.
Result<int> answer_of_helper(int socket) {
  int status = 0;
  const ssize_t size =
      base::without_interruption([&] { return ::recv(socket, &status, sizeof status, 0); });
  if (size == sizeof status) return status;
  return fail(ErrorCode::kIo, "the helper process that starts tarball readers exited unexpectedly");
}

/// Reads from PIPE until its end or until LIMIT bytes have been read.
Result<std::string> read_all(int pipe, std::size_t limit) {
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
  return fail(ErrorCode::kLimit, "reading the tarball took too long, or it has too many entries");
}

std::unexpected<Error> killed(int signal) {
  if (signal == SIGXCPU) return fail(ErrorCode::kLimit, "reading the tarball took too long");
  return fail(ErrorCode::kInvalid, "the tarball reader was killed by signal {}", signal);
}

Result<ChangeSetContent> content_of(std::string_view message, base::Fd contents,
                                    const TarballLimits& limits) {
  struct stat status {};
  if (::fstat(contents.get(), &status) != 0)
    return fail_errno("cannot examine the contents of the tarball");
  QUARRY_TRY_ASSIGN(auto entries,
                    unpacked(message, static_cast<std::uint64_t>(status.st_size), limits));
  return checked_content(std::move(entries), std::move(contents));
}

}  // namespace

struct TarballReaders::Helper {
  pid_t pid = -1;
  base::Fd socket;

  ~Helper() {
    socket.reset();
    if (pid > 0) base::wait_for_end(pid);
  }
};

TarballReaders::TarballReaders() {
  static_cast<void>(start_helper());
}
TarballReaders::~TarballReaders() = default;

Result<void> TarballReaders::start_helper() {
  helper_.reset();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno("cannot create a socket pair for tarball readers");
  }
  auto helper = std::make_unique<Helper>();
  helper->socket.reset(ends[0]);
  const base::Fd its(ends[1]);
  const pid_t owner = ::getpid();
  helper->pid = ::fork();
  if (helper->pid < 0) return fail_errno("cannot start the helper process for tarball readers");
  if (helper->pid == 0) fork_readers(its.get(), owner);
  QUARRY_TRY(answer_of_helper(helper->socket.get()));
  helper_ = std::move(helper);
  return {};
}

/// Sends an order to the helper to start a reader with DESCRIPTORS.
Result<void> TarballReaders::order(const TarballLimits& limits, std::span<const int> descriptors) {
  const auto send = [&] {
    return helper_ && base::send_descriptors(helper_->socket.get(),
                                             std::as_bytes(std::span(&limits, 1)), descriptors);
  };
  if (send()) return {};
  QUARRY_TRY(start_helper());
  return send() ? Result<void>() : fail_errno("cannot start a tarball reader");
}

TarballReaders::Contents TarballReaders::read_once(std::span<const int> tarballs,
                                                   const TarballLimits& limits,
                                                   const std::filesystem::path& folder) {
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  std::vector<int> descriptors = {pipe.writing.get()};
  descriptors.insert(descriptors.end(), tarballs.begin(), tarballs.end());
  std::vector<base::Fd> files;
  for (std::size_t i = 0; i < tarballs.size(); ++i) {
    QUARRY_TRY_ASSIGN(auto file, make_contents_file(folder));
    descriptors.push_back(file.get());
    files.push_back(std::move(file));
  }
  QUARRY_TRY(order(limits, descriptors));
  pipe.writing.reset();
  const std::size_t limit = kMaxMeta + (limits.entries + 1) * (kMaxName + 64);
  const auto messages = read_all(pipe.reading.get(), tarballs.size() * limit);
  const auto end = messages ? answer_of_helper(helper_->socket.get())
                            : Result<int>(std::unexpected(messages.error()));
  if (!end) {
    // Killing the helper also kills the reader.
    ::kill(helper_->pid, SIGKILL);
    helper_.reset();
    return std::unexpected(end.error());
  }
  if (WIFSIGNALED(*end)) return killed(WTERMSIG(*end));
  std::vector<Result<ChangeSetContent>> read;
  std::string_view rest = *messages;
  for (base::Fd& each : files)
    read.push_back(content_of(next_message(rest), std::move(each), limits));
  return read;
}

TarballReaders::Contents TarballReaders::read_together(std::span<const int> tarballs,
                                                       const TarballLimits& limits,
                                                       const std::filesystem::path& folder) {
  auto read = read_once(tarballs, limits, folder);
  const bool has_helper_died = !read && read.error().code == ErrorCode::kIo && !helper_;
  return has_helper_died ? read_once(tarballs, limits, folder) : std::move(read);
}

Result<ChangeSetContent> TarballReaders::read(int tarball, const TarballLimits& limits,
                                              const std::filesystem::path& folder) {
  QUARRY_TRY_ASSIGN(auto read, read_together(std::array{tarball}, limits, folder));
  return std::move(read.front());
}

}  // namespace quarry::changes
