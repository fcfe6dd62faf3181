// What is asked of the starter is a byte with three descriptors; it answers with a Started.
#include "fossil_starter.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "quarry/base/descriptor_message.h"
#include "quarry/base/spawn.h"

namespace quarry::pages {
namespace {

using base::Result;

constexpr int kFailed = 127;
constexpr time_t kPatience = 5;  // seconds, for an answer

struct Started {
  pid_t pid;
  int error;  // errno; 0: it is executed
};

bool send_order(int socket, std::span<const int> descriptors) {
  constexpr std::array kNothing{std::byte{0}};
  return base::send_descriptors(socket, kNothing, descriptors);
}

/// Nothing: there is nobody any more who would order.
std::optional<std::array<int, 3>> receive_order(int socket) {
  std::array<std::byte, 1> nothing{};
  std::array<int, 3> descriptors{};
  const std::size_t came = base::receive_descriptors(socket, nothing, descriptors);
  return came == descriptors.size() ? std::optional(descriptors) : std::nullopt;
}

/// Lowers the share of this session. A kernel that knows nothing of it has no need of it.
void lower_share(int nice) {
  // Who may do less may do this ten times a second, all of a machine together.
  constexpr auto kPause = std::chrono::milliseconds(110);
  constexpr int kAttempts = 10;
  const base::Fd file(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(nice);
  for (int i = 0; file && i < kAttempts; ++i) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written >= 0 || errno != EAGAIN) return;
    std::this_thread::sleep_for(kPause);
  }
}

/// What a new process does; returns if it cannot be executed. It has its own memory, so that it can
/// do as it likes, and nobody else works in it.
void execute(const std::array<int, 3>& descriptors, char* const* words, char* const* environment,
             pid_t owner) {
  ::setpgid(0, 0);
  // Nobody else would end one that hangs when its owner has died.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  if (::getppid() != owner) ::_exit(kFailed);
  for (int place = 0; place < 3; ++place) {
    if (::dup2(descriptors[static_cast<std::size_t>(place)], place) < 0) return;
  }
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(words[0], words, environment);
}

/// The whole life of the starter.
[[noreturn]] void serve(base::Fd socket, const FossilStarter::Plan& plan, pid_t owner) {
  sigset_t all;
  ::sigfillset(&all);
  // It ends with its owner, whatever a group is told.
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, "page starter");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != owner) ::_exit(kFailed);
  // The sockets of others are to be closed when they close them. Below it are standard input, output
  // and errors, in whose place an order's descriptors never come.
  const int own = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3);
  const int nothing = ::open("/dev/null", O_RDWR);
  if (own < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(nothing, 1) < 0) ::_exit(kFailed);
  ::dup2(own, 3);
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
  ::close_range(4, ~0U, 0);
  if (::setsid() < 0 || ::chdir("/") != 0) ::_exit(kFailed);
  lower_share(plan.nice);
  void* const shared =
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) ::_exit(kFailed);
  int* const error = static_cast<int*>(shared);
  const auto words = base::pointers_to(plan.words);
  const auto environment = base::pointers_to(plan.environment);
  while (const auto descriptors = receive_order(3)) {
    *error = 0;
    // A child of its parent's, which is executed, or gone, when this returns.
    const long pid = ::syscall(SYS_clone, CLONE_PARENT | CLONE_VFORK, nullptr, nullptr, nullptr, 0);
    if (pid == 0) {
      execute(*descriptors, words.data(), environment.data(), owner);
      *error = errno;
      ::_exit(kFailed);
    }
    const Started started{.pid = static_cast<pid_t>(pid), .error = pid < 0 ? errno : *error};
    for (const int each : *descriptors) ::close(each);
    if (::send(3, &started, sizeof started, MSG_NOSIGNAL) != sizeof started) break;
  }
  ::_exit(0);
}

std::optional<Started> receive_answer(int socket) {
  Started started{};
  ssize_t size = 0;
  do {
    size = ::recv(socket, &started, sizeof started, 0);
  } while (size < 0 && errno == EINTR);
  return size == sizeof started ? std::optional(started) : std::nullopt;
}

}  // namespace

Result<void> FossilStarter::make_starter() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return base::fail_errno("no socket for who starts " + plan_.words[0]);
  }
  base::Fd ours(ends[0]), its(ends[1]);
  const timeval patience{.tv_sec = kPatience, .tv_usec = 0};
  ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const pid_t owner = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("nobody can be made who starts " + plan_.words[0]);
  if (pid == 0) serve(std::move(its), plan_, owner);
  socket_ = std::move(ours);
  return {};
}

Result<pid_t> FossilStarter::start(const std::array<int, 3>& descriptors) {
  if (!socket_ || !send_order(socket_.get(), descriptors)) {
    // There is none yet, or it has died.
    QUARRY_TRY(make_starter());
    if (!send_order(socket_.get(), descriptors)) {
      return base::fail_errno("cannot ask for the start of " + plan_.words[0]);
    }
  }
  const auto started = receive_answer(socket_.get());
  if (!started) {
    socket_.reset();
    return base::fail(base::ErrorCode::kIo, "who starts " + plan_.words[0] + " has died");
  }
  if (started->error == 0) return started->pid;
  errno = started->error;
  auto failure = base::fail_errno("cannot start " + plan_.words[0]);
  if (started->error == ENOENT) failure.error().code = base::ErrorCode::kNotFound;
  return failure;
}

}  // namespace quarry::pages
