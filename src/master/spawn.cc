#include "spawn.h"

#include <fmt/core.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <exception>

#include "quarry/base/log.h"

namespace quarry::master {
namespace {

constexpr int kCannotStart = 70;  // EX_SOFTWARE: the child's own code never ran

[[noreturn]] void leave(int /*signal*/) {
  ::_exit(0);
}

/// Keeps every signal away between fork and the moment the child's own are at rest.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

void put_signals_to_rest() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  for (const int number : {SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE}) ::signal(number, SIG_IGN);
  for (const int number : {SIGTERM, SIGQUIT}) ::signal(number, leave);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
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

base::Result<void> set_limit(decltype(RLIMIT_NOFILE) resource, std::optional<std::uint64_t> value) {
  if (!value) return {};
  const rlimit limit{*value, *value};
  if (::setrlimit(resource, &limit) == 0) return {};
  return base::fail_errno(fmt::format("cannot set a resource limit to {}", *value));
}

base::Result<void> prepare(const Service& service, pid_t master) {
  QUARRY_TRY(set_limit(RLIMIT_NOFILE, service.limits.files));
  QUARRY_TRY(set_limit(RLIMIT_CORE, service.limits.core));
  if (service.run_as) QUARRY_TRY(become(*service.run_as));
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // After the change of user, which would take it back.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != master) return base::fail(base::ErrorCode::kIo, "the master is gone");
  ::prctl(PR_SET_NAME, service.name.c_str(), 0, 0, 0);
  return {};
}

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

base::Result<Spawned> spawn(
    Service& service, const ChildEnds& ends,
    const std::function<std::optional<scoreboard::Board>()>& forget_others) {
  QUARRY_TRY_ASSIGN(auto channel, control::Channel::make_pair());
  auto& [ours, childs] = channel;
  const pid_t master = ::getpid();
  const SignalsHeld held;
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("cannot make a process");
  if (pid > 0) return Spawned{pid, std::move(ours)};

  put_signals_to_rest();
  base::set_log_prefix(service.name);
  const std::optional<scoreboard::Board> observed = forget_others();
  std::vector<int> kept = service.kept_descriptors;
  kept.insert(kept.end(), {service.listener.fd(), ends.board.fd(), childs.fd(), ends.child_accept});
  close_all_but(std::move(kept));
  if (auto prepared = prepare(service, master); !prepared) {
    base::log(base::LogLevel::kAlert, "cannot start: {}", prepared.error().message);
    ::_exit(kCannotStart);
  }
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
