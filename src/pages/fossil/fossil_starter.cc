#include "fossil_starter.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "page_order.h"
#include "quarry/base/fossil_environment.h"
#include "quarry/base/log.h"
#include "quarry/base/spawn.h"

namespace quarry::pages {
namespace {

using base::Result;

constexpr int kFailed = 127;
constexpr time_t kPatience = 5;  // seconds, for an answer

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

/// Makes the session whose share is lowered, in which nothing is open but the socket for orders.
/// False: errno.
bool be_starter(const base::Fd& socket, int nice, pid_t owner) {
  sigset_t all;
  ::sigfillset(&all);
  // It ends with its owner, whatever a group is told.
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::prctl(PR_SET_NAME, kStarterName);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != owner) return false;
  // The sockets of others are to be closed when they close them. Below it are standard input, output
  // and errors, in whose place an order's descriptors never come.
  const int own = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, kOrders);
  const int nothing = ::open("/dev/null", O_RDWR);
  if (own < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(nothing, 1) < 0) return false;
  ::dup2(own, kOrders);
  ::fcntl(kOrders, F_SETFD, 0);
  ::close_range(kOrders + 1, ~0U, 0);
  if (::setsid() < 0 || ::chdir("/") != 0) return false;
  lower_share(nice);
  return true;
}

/// Becomes the program, which its library keeps. Returns if it cannot be executed, with errno.
void become_kept(const FossilStarter::Plan& plan, pid_t owner) {
  auto environment = plan.environment;
  base::preload(environment, plan.keeper);
  environment.push_back(fmt::format("{}={}", kOwnerVariable, owner));
  environment.push_back(fmt::format("{}=1", kLinkAtOnce));
  ::execvpe(plan.words[0].c_str(), base::pointers_to(plan.words).data(),
            base::pointers_to(environment).data());
}

/// Executes the program for each order. Returns when there is nobody any more who would order.
void execute_for_each(const FossilStarter::Plan& plan, pid_t owner) {
  ::fcntl(kOrders, F_SETFD, FD_CLOEXEC);
  void* const shared =
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  int* const error = static_cast<int*>(shared);
  const auto words = base::pointers_to(plan.words);
  const auto environment = base::pointers_to(plan.environment);
  Started answer{.pid = 0, .error = 0};
  while (send_answer(kOrders, answer)) {
    const auto descriptors = receive_order(kOrders);
    if (!descriptors) return;
    *error = 0;
    // A child of its parent's, which is executed, or gone, when this returns. It has its own memory,
    // so that it can do as it likes, and nobody else works in it.
    const long pid = ::syscall(SYS_clone, CLONE_PARENT | CLONE_VFORK, nullptr, nullptr, nullptr, 0);
    if (pid == 0) {
      if (be_as_ordered(*descriptors, owner)) ::execvpe(words[0], words.data(), environment.data());
      *error = errno;
      ::_exit(kFailed);
    }
    answer = {.pid = static_cast<pid_t>(pid), .error = pid < 0 ? errno : *error};
    for (const int each : *descriptors) ::close(each);
  }
}

/// The whole life of the starter.
[[noreturn]] void serve(const base::Fd& socket, const FossilStarter::Plan& plan, bool is_kept,
                        pid_t owner) {
  if (!be_starter(socket, plan.nice, owner)) ::_exit(kFailed);
  if (is_kept) {
    become_kept(plan, owner);
    send_answer(kOrders, {.pid = 0, .error = errno});
  } else {
    execute_for_each(plan, owner);
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

Result<pid_t> result_of(const Started& started, const std::string& program) {
  if (started.error == 0) return started.pid;
  errno = started.error;
  auto failure = base::fail_errno("cannot start " + program);
  if (started.error == ENOENT) failure.error().code = base::ErrorCode::kNotFound;
  return failure;
}

}  // namespace

FossilStarter::FossilStarter(Plan plan)
    : plan_(std::move(plan)), can_be_kept_(!plan_.keeper.empty()) {}

Result<void> FossilStarter::make_starter() {
  if (can_be_kept_) {
    QUARRY_TRY_ASSIGN(const bool is_ready, make_starter(true));
    if (is_ready) return {};
    can_be_kept_ = false;
    base::log(base::LogLevel::kNotice, "{} is executed for each page: {} cannot be loaded into it",
              plan_.words[0], plan_.keeper.string());
  }
  QUARRY_TRY_ASSIGN(const bool is_ready, make_starter(false));
  if (is_ready) return {};
  return base::fail(base::ErrorCode::kIo, "who starts " + plan_.words[0] + " has died");
}

Result<bool> FossilStarter::make_starter(bool is_kept) {
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
  if (pid == 0) serve(its, plan_, is_kept, owner);
  its.reset();
  const auto ready = receive_answer(ours.get());
  if (!ready) {
    ::kill(pid, SIGKILL);
    return false;
  }
  QUARRY_TRY(result_of(*ready, plan_.words[0]));
  socket_ = std::move(ours);
  return true;
}

void FossilStarter::forget() {
  socket_.reset();
  can_be_kept_ = !plan_.keeper.empty();
}

Result<pid_t> FossilStarter::start(const PageDescriptors& descriptors) {
  if (!socket_ || !send_order(socket_.get(), descriptors)) {
    // There is none yet, or it has died.
    QUARRY_TRY(make_starter());
    if (!send_order(socket_.get(), descriptors)) {
      return base::fail_errno("cannot ask for the start of " + plan_.words[0]);
    }
  }
  const auto started = receive_answer(socket_.get());
  if (started) return result_of(*started, plan_.words[0]);
  socket_.reset();
  return base::fail(base::ErrorCode::kIo, "who starts " + plan_.words[0] + " has died");
}

}  // namespace quarry::pages
