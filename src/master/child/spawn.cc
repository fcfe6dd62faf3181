#include "spawn.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <exception>

#include "quarry/base/log.h"

namespace quarry::master {
namespace {

constexpr int kCannotStart = 70;  // EX_SOFTWARE: the child's own code never ran
constexpr std::chrono::milliseconds kLongestPreparation{10'000};

[[noreturn]] void leave(int /*signal*/) {
  ::_exit(0);
}

base::Result<void> prepare(const Service& service, pid_t master) {
  QUARRY_TRY(put_in_force(service.process, service.run_as));
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // After the change of user, which would take it back.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != master) return base::fail(base::ErrorCode::kIo, "the master is gone");
  // Yama lets only those be looked into who ask for it, and nobody asks for more than the master.
  if (service.slow_log.timeout.count() > 0) {
    ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(master), 0, 0, 0);
  }
  ::prctl(PR_SET_NAME, service.name.c_str(), 0, 0, 0);
  return {};
}

// A pipe from a child to its master, which waits: the child writes why it cannot start, or closes
// it.
class Preparation {
 public:
  static base::Result<Preparation> begin() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("cannot make a pipe");
    Preparation made;
    made.read_.reset(ends[0]);
    made.write_.reset(ends[1]);
    return made;
  }

  // --- the child's ---
  int fd() const { return write_.get(); }
  void succeed() { write_.reset(); }
  void fail(const std::string& why) const {
    (void)!::write(write_.get(), why.data(), std::min(why.size(), std::size_t{PIPE_BUF}));
  }

  /// The master's: why the child cannot start, or nothing. One that hangs is not waited for longer.
  std::string outcome() {
    write_.reset();
    std::array<char, PIPE_BUF> text{};
    pollfd end{.fd = read_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&end, 1, static_cast<int>(kLongestPreparation.count())) <= 0) return {};
    const ssize_t size = ::read(read_.get(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  base::Fd read_;
  base::Fd write_;
};

[[noreturn]] void run_child(Service& service, ChildContext& context) {
  int code = kCannotStart;
  try {
    context.slot.child_started();
    code = service.run(context);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kAlert, "child ended: {}", error.what());
  }
  ::_exit(code);
}

}  // namespace

SignalsHeld::SignalsHeld() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before_);
}

SignalsHeld::~SignalsHeld() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void put_signals_to_rest() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  for (const int number : {SIGINT, SIGHUP, SIGUSR2, SIGPIPE}) ::signal(number, SIG_IGN);
  for (const int number : {SIGTERM, SIGQUIT}) ::signal(number, leave);
  // SIGUSR1 waits for the child to have a handler (ignored, it would be lost): no child misses that
  // the logs were moved.
  sigset_t waiting;
  ::sigemptyset(&waiting);
  ::sigaddset(&waiting, SIGUSR1);
  ::sigprocmask(SIG_SETMASK, &waiting, nullptr);
}

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd < static_cast<int>(first)) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > first) ::syscall(SYS_close_range, first, number - 1, 0U);
    first = number + 1;
  }
  ::syscall(SYS_close_range, first, UINT_MAX, 0U);
}

base::Result<Spawned> spawn(
    Service& service, const ChildEnds& ends,
    const std::function<std::optional<scoreboard::Board>()>& forget_others) {
  QUARRY_TRY_ASSIGN(auto channel, control::Channel::make_pair());
  auto& [ours, childs] = channel;
  std::optional<OutputPipes> output;
  if (service.process.catch_output) {
    QUARRY_TRY_ASSIGN(output, OutputPipes::make());
  }
  std::optional<Preparation> preparation;
  if (ends.is_waited_for) {
    QUARRY_TRY_ASSIGN(preparation, Preparation::begin());
  }
  const pid_t master = ::getpid();
  const SignalsHeld held;
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("cannot make a process");
  if (pid > 0) {
    const std::string failure = preparation ? preparation->outcome() : std::string();
    if (failure.empty()) return Spawned{pid, std::move(ours), std::move(output)};
    ::waitpid(pid, nullptr, 0);
    return base::fail(base::ErrorCode::kIo, failure);
  }

  put_signals_to_rest();
  redirect_standard_streams(output ? &*output : nullptr);
  base::set_log_prefix(service.name);
  const std::optional<scoreboard::Board> observed = forget_others();
  std::vector<int> kept = service.kept_descriptors;
  kept.insert(kept.end(), {service.listener.fd(), ends.board.fd(), childs.fd(), ends.child_accept});
  if (preparation) kept.push_back(preparation->fd());
  close_all_but(std::move(kept));
  if (auto prepared = prepare(service, master); !prepared) {
    if (preparation) {
      preparation->fail(prepared.error().message);
    } else {
      base::log(base::LogLevel::kAlert, "cannot start: {}", prepared.error().message);
    }
    ::_exit(kCannotStart);
  }
  if (preparation) preparation->succeed();
  ChildContext context{ends.slot,
                       service.listener.fd(),
                       &ends.board,
                       ends.board.slot(ends.slot),
                       &childs,
                       ends.child_accept,
                       observed ? &*observed : nullptr};
  run_child(service, context);
}

}  // namespace quarry::master
