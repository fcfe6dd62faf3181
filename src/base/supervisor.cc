#include "supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "quarry/base/process_title.h"

namespace quarry::base {
namespace {

class Supervisor {
 public:
  Supervisor(pid_t program, Background background)
      : program_(program), is_ending_all_(background == Background::kEnds) {}

  /// CALLER is a pidfd; SIGNALS is a signalfd of all signals.
  void wait(int caller, int signals) {
    std::array<pollfd, 2> ready{{{caller, POLLIN, 0}, {signals, POLLIN, 0}}};
    while (!status_) {
      ::poll(ready.data(), ready.size(), -1);
      signalfd_siginfo signal{};
      const bool has_signal =
          ready[1].revents != 0 && ::read(signals, &signal, sizeof signal) == sizeof signal;
      const auto number = has_signal ? static_cast<int>(signal.ssi_signo) : 0;
      if (number == SIGTERM) {
        ::kill(-program_, SIGTERM);
        is_ending_all_ = true;
      }
      const bool is_wanted = ready[0].revents == 0 && number != kEndSupervised;
      if (!is_wanted) return end_all();
      reap_ended();
    }
    // If this process is a guard, and its supervisor was killed, the supervisor's descendants are
    // now children of this process.
    if (is_ending_all_ || WIFSIGNALED(*status_)) end_all();
  }

  /// Exits with the program's exit status, or by the signal that has killed the program.
  [[noreturn]] void exit() const {
    const int status = status_.value_or(SIGKILL);
    if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
    const rlimit no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    sigset_t all;
    ::sigfillset(&all);
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
    ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
    ::_exit(1);
  }

 private:
  /// Reaps children that have exited. Returns whether other children are still running.
  bool reap_ended() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended == program_) status_ = status;
    }
    return ended == 0;
  }

  /// Kills all descendants and waits until they have exited.
  void end_all() {
    constexpr std::chrono::seconds kEndingTime{10};
    const auto end = std::chrono::steady_clock::now() + kEndingTime;
    // The children of a killed child become children of this process. Therefore, repeat until all
    // children have ended.
    while (reap_ended() && std::chrono::steady_clock::now() < end) {
      signal_children(::getpid(), SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  pid_t program_;
  bool is_ending_all_;
  std::optional<int> status_;  // of the program, as returned by waitpid()
};

}  // namespace

void signal_children(pid_t process, int signal) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/children", process, process);
  const int list = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> text{};
  pid_t pid = 0;
  for (ssize_t size = 0; (size = ::read(list, text.data(), text.size())) > 0;) {
    for (const char* c = text.data(); c != text.data() + size; ++c) {
      if (*c != ' ') {
        pid = pid * 10 + (*c - '0');
      } else if (pid > 0) {
        ::kill(pid, signal);
        pid = 0;
      }
    }
  }
  ::close(list);
}

void prepare_supervisor(const char* name, const char* title) {
  ::prctl(PR_SET_NAME, name);
  set_process_title(title);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ::setpgid(0, 0);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  // waitpid(2) fails in a process that ignores SIGCHLD.
  ::signal(SIGCHLD, SIG_DFL);
}

void supervise(pid_t program, int caller, Background background) {
  ::dup2(caller, 0);
  ::close_range(1, ~0U, 0);
  sigset_t all;
  ::sigfillset(&all);
  const int signals = ::signalfd(-1, &all, SFD_CLOEXEC);
  Supervisor supervisor(program, background);
  supervisor.wait(0, signals);
  supervisor.exit();
}

}  // namespace quarry::base
