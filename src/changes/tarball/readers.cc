// The helper process that forks readers of tarballs. It receives an order for each: the limits,
// and as descriptors the pipe, the tarballs and a file for the contents of each. It forks the
// reader, waits for it, and answers with its status; so there is one reader at a time. Its first
// answer, before any order, says that it is running and has no other files open.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "apart.h"
#include "confinement.h"
#include "quarry/base/descriptor_message.h"
#include "quarry/base/fd.h"
#include "quarry/base/spawn.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"
#include "utf8_locale.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int kFailed = 1;

static_assert(1 + 2 * TarballReaders::kMax <= base::kMostDescriptors);
static_assert(std::is_trivially_copyable_v<TarballLimits>);

bool send_order(int socket, const TarballLimits& limits, std::span<const int> descriptors) {
  return base::send_descriptors(socket, std::as_bytes(std::span(&limits, 1)), descriptors);
}

/// False: the owner is gone.
bool receive_order(int socket, TarballLimits& limits, std::vector<int>& descriptors) {
  descriptors.resize(1 + 2 * TarballReaders::kMax);
  descriptors.resize(base::receive_descriptors(
      socket, std::as_writable_bytes(std::span(&limits, 1)), descriptors));
  return descriptors.size() % 2 == 1 && descriptors.size() > 1;
}

bool answer(int socket, int status) {
  return ::send(socket, &status, sizeof status, MSG_NOSIGNAL) == sizeof status;
}

/// The main function of the process.
[[noreturn]] void make_readers(int socket, pid_t owner) {
  sigset_t all;
  ::sigfillset(&all);
  // It ends with its owner, whatever signals are sent to the terminal or the process group.
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != owner) ::_exit(kFailed);
  base::close_all_but(std::array{socket});
  // Loaded once, before its readers are forked.
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
    // Reported as killed: it is not the tarball's fault, but no reader has answered either.
    status = pid > 0 ? base::wait_for_end(pid).value_or(SIGKILL) : SIGKILL;
  }
  ::_exit(0);
}

/// The helper's next answer; an error if it has died.
Result<int> word_of_maker(int socket) {
  int status = 0;
  ssize_t size = 0;
  do {
    size = ::recv(socket, &status, sizeof status, 0);
  } while (size < 0 && errno == EINTR);
  if (size == sizeof status) return status;
  return base::fail(ErrorCode::kIo, "who makes readers of tarballs has died");
}

}  // namespace

struct TarballReaders::Maker {
  pid_t pid = -1;
  base::Fd socket;

  ~Maker() {
    socket.reset();
    if (pid > 0) base::wait_for_end(pid);
  }
};

namespace {

/// A reader that the helper has been asked to fork; it ends with the helper.
class Ordered final : public Reader {
 public:
  Ordered(int socket, std::function<void()> kill_maker)
      : socket_(socket), kill_maker_(std::move(kill_maker)) {}
  ~Ordered() override {
    if (!has_ended_) kill_maker_();
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;

  Result<int> end() override {
    auto status = word_of_maker(socket_);
    has_ended_ = status.has_value();
    return status;
  }

 private:
  int socket_;
  std::function<void()> kill_maker_;
  bool has_ended_ = false;
};

}  // namespace

TarballReaders::TarballReaders() {
  static_cast<void>(make_maker());
}
TarballReaders::~TarballReaders() = default;

Result<void> TarballReaders::make_maker() {
  maker_.reset();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return base::fail_errno("no socket for who makes readers of tarballs");
  }
  auto maker = std::make_unique<Maker>();
  maker->socket.reset(ends[0]);
  const base::Fd its(ends[1]);
  const pid_t owner = ::getpid();
  maker->pid = ::fork();
  if (maker->pid < 0) return base::fail_errno("cannot start who makes readers of tarballs");
  if (maker->pid == 0) make_readers(its.get(), owner);
  QUARRY_TRY(word_of_maker(maker->socket.get()));
  maker_ = std::move(maker);
  return {};
}

Result<ChangeSetContent> TarballReaders::read(int tarball, const TarballLimits& limits,
                                              const std::filesystem::path& folder) {
  QUARRY_TRY_ASSIGN(auto read, read_together(std::array{tarball}, limits, folder));
  return std::move(read.front());
}

Result<std::vector<Result<ChangeSetContent>>> TarballReaders::read_together(
    std::span<const int> tarballs, const TarballLimits& limits,
    const std::filesystem::path& folder) {
  const auto start = [&](std::span<const int> contents,
                         int pipe) -> Result<std::unique_ptr<Reader>> {
    std::vector<int> descriptors = {pipe};
    descriptors.insert(descriptors.end(), tarballs.begin(), tarballs.end());
    descriptors.insert(descriptors.end(), contents.begin(), contents.end());
    const auto order = [&] {
      return maker_ && send_order(maker_->socket.get(), limits, descriptors);
    };
    if (!order()) {
      QUARRY_TRY(make_maker());
      if (!order()) return base::fail_errno("cannot order a reader of a tarball");
    }
    return std::make_unique<Ordered>(maker_->socket.get(), [this] {
      ::kill(maker_->pid, SIGKILL);
      maker_.reset();
    });
  };
  auto read = read_by(start, tarballs.size(), limits, folder);
  const bool has_maker_died = !read && read.error().code == ErrorCode::kIo && !maker_;
  return has_maker_died ? read_by(start, tarballs.size(), limits, folder) : std::move(read);
}

}  // namespace quarry::changes
