#include "spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "quarry/base/log.h"
#include "quarry/base/pipe.h"
#include "quarry/base/process_title.h"
#include "quarry/base/spawn.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {
namespace {

constexpr int kCannotStart = 70;  // exit code (EX_SOFTWARE) of a child that could not start
constexpr int kFirstPassed = 3;   // SD_LISTEN_FDS_START of sd_listen_fds(3)
constexpr std::chrono::milliseconds kLongestPreparation{10'000};

[[noreturn]] void leave(int /*signal*/) {
  ::_exit(0);
}

Result<void> prepare(const Service& service, pid_t master) {
  QUARRY_TRY(put_in_force(service.process, service.run_as));
  if (service.process.no_new_privs) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Set the signal now, because the kernel clears this setting on a change of user.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != master) return fail(ErrorCode::kIo, "the master has exited");
  ::prctl(PR_SET_NAME, service.name.c_str(), 0, 0, 0);
  base::set_process_title("quarry: " + service.name);
  return {};
}

// A pipe on which the master waits for its child. The child closes the pipe, or writes into the
// pipe why the child cannot start.
class Preparation {
 public:
  static Result<Preparation> begin() {
    Preparation made;
    QUARRY_TRY_ASSIGN(made.pipe_, base::make_pipe());
    return made;
  }

  // Used by the child:
  int fd() const { return pipe_.writing.get(); }
  /// Moves the descriptor to LIMIT or above, to free the lower numbers.
  void move_above(int limit) {
    pipe_.writing.reset(::fcntl(pipe_.writing.get(), F_DUPFD_CLOEXEC, limit));
  }
  void succeed() { pipe_.writing.reset(); }
  void fail(const std::string& why) const {
    (void)!::write(pipe_.writing.get(), why.data(), std::min(why.size(), std::size_t{PIPE_BUF}));
  }

  /// Used by the master. Waits until the child has closed the pipe, or until a timeout. Returns the
  /// reason why the child cannot start, or "".
  std::string outcome() {
    pipe_.writing.reset();
    std::array<char, PIPE_BUF> text{};
    pollfd end{.fd = pipe_.reading.get(), .events = POLLIN, .revents = 0};
    if (::poll(&end, 1, static_cast<int>(kLongestPreparation.count())) <= 0) return {};
    const ssize_t size = ::read(pipe_.reading.get(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  base::Pipe pipe_;
};

/// Resources that a new process inherits from its master.
struct Inheritance {
  Service& service;
  const ChildEnds& ends;
  pid_t master;
  control::Channel channel;
  std::optional<OutputPipes> output;
  std::optional<Preparation> preparation;
  base::Fd log{};  // for a program: a duplicate of the log; see keep_log_for_now()

  [[noreturn]] void give_up(const std::string& why) const {
    if (preparation) {
      preparation->fail(why);
    } else {
      if (log) ::dup2(log.get(), base::log_descriptor());
      base::log(base::LogLevel::kAlert, "cannot start: {}", why);
    }
    ::_exit(kCannotStart);
  }
};

[[noreturn]] void run_function(Inheritance& mine, const scoreboard::Board* observed) {
  if (mine.preparation) mine.preparation->succeed();
  const ChildEnds& ends = mine.ends;
  ChildContext context{.index = *ends.slot,
                       .listener = mine.service.listener.fd(),
                       .board = &ends.board,
                       .slot = ends.board.slot(*ends.slot),
                       .control = &mine.channel,
                       .child_accept = ends.child_accept,
                       .observed = observed};
  int code = kCannotStart;
  try {
    context.slot.child_started();
    code = mine.service.run(context);
  } catch (const std::exception& error) {
    base::log(base::LogLevel::kAlert, "child ended: {}", error.what());
  }
  ::_exit(code);
}

/// Passes the listening socket to a program by the protocol of sd_listen_fds(3). Errors: kIo.
Result<void> pass_listener(int listener) {
  if (listener < 0) return {};
  const bool is_there = listener == kFirstPassed ? ::fcntl(listener, F_SETFD, 0) == 0
                                                 : ::dup2(listener, kFirstPassed) == kFirstPassed;
  if (!is_there) return fail_errno("cannot pass on the listening socket");
  ::setenv("LISTEN_FDS", "1", 1);
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  return {};
}

/// Sets signals to their initial state for a program.
void leave_signals_to_program() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  // A program ignores these signals until it installs handlers; see service.h.
  for (const int number : {SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Keeps the log open until the program is executed. The log gets a second descriptor, because the
/// listening socket might replace the first descriptor.
void keep_log_for_now(Inheritance& mine) {
  const int number = base::log_descriptor();
  mine.log.reset(::fcntl(number, F_DUPFD_CLOEXEC, kFirstPassed + 1));
  if (number > STDERR_FILENO) ::fcntl(number, F_SETFD, FD_CLOEXEC);
}

// Executes PROGRAM. The execution closes the pipe of the Preparation, which tells the master that
// the child has started.
[[noreturn]] void execute(const Inheritance& mine, const Program& program) {
  if (auto passed = pass_listener(mine.service.listener.fd()); !passed) {
    mine.give_up(passed.error().message);
  }
  std::vector<std::string> words = program.arguments;
  leave_signals_to_program();
  ::execv(program.path.c_str(), base::pointers_to(words).data());
  mine.give_up(fail_errno("cannot execute {}", program.path.string()).error().message);
}

/// Runs in the new process and never returns.
[[noreturn]] void run_child(
    Inheritance mine, const std::function<std::optional<scoreboard::Board>()>& forget_others) {
  const Service& service = mine.service;
  const Program* program = service.program ? &*service.program : mine.ends.program;
  put_signals_to_rest();
  redirect_standard_streams(mine.output ? &*mine.output : nullptr, service.keeps_standard_error);
  base::set_log_prefix(service.name);
  const std::optional<scoreboard::Board> observed = forget_others();
  std::vector<int> kept{service.listener.fd()};
  if (program == nullptr) {
    for (const Listener& each : service.more_listeners) kept.push_back(each.fd());
    kept.insert(kept.end(), service.kept_descriptors.begin(), service.kept_descriptors.end());
    kept.insert(kept.end(), {mine.ends.board.fd(), mine.channel.fd(), mine.ends.child_accept});
  } else {
    keep_log_for_now(mine);
    kept.insert(kept.end(), {base::log_descriptor(), mine.log.get()});
    if (mine.channel.fd() >= 0) ::dup2(mine.channel.fd(), STDIN_FILENO);
    if (mine.preparation) mine.preparation->move_above(kFirstPassed + 1);
  }
  if (mine.preparation) kept.push_back(mine.preparation->fd());
  base::close_all_but(kept);
  if (auto prepared = prepare(service, mine.master); !prepared) {
    mine.give_up(prepared.error().message);
  }
  if (program != nullptr) execute(mine, *program);
  run_function(mine, observed ? &*observed : nullptr);
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
  // SIGUSR1 stays blocked until the child has its own handler, so that the child does not miss a
  // log rotation. SIG_IGN would discard a signal that has already arrived. SIG_DFL would kill a
  // child that removes its handler before it exits.
  ::signal(SIGUSR1, [](int) {});
  sigset_t waiting;
  ::sigemptyset(&waiting);
  ::sigaddset(&waiting, SIGUSR1);
  ::sigprocmask(SIG_SETMASK, &waiting, nullptr);
}

Result<Spawned> spawn(Service& service, const ChildEnds& ends,
                      const std::function<std::optional<scoreboard::Board>()>& forget_others) {
  std::pair<control::Channel, control::Channel> channel;
  if (!service.is_program() || service.on_request || service.requests_jobs) {
    QUARRY_TRY_ASSIGN(channel, control::Channel::make_pair());
  }
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
  if (pid < 0) return fail_errno("cannot create a process");
  if (pid == 0) {
    run_child({service, ends, master, std::move(childs), std::move(output), std::move(preparation)},
              forget_others);
  }
  const std::string failure = preparation ? preparation->outcome() : std::string();
  if (failure.empty()) return Spawned{pid, std::move(ours), std::move(output)};
  ::waitpid(pid, nullptr, 0);
  return fail(ErrorCode::kIo, failure);
}

}  // namespace quarry::master
