#include "child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "quarry/base/fd.h"
#include "quarry/base/spawn.h"

namespace quarry::courier {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{200};
/// From SIGTERM to SIGKILL.
constexpr milliseconds kPatience{2000};
constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// The program while it runs.
class Child {
 public:
  Child(pid_t pid, base::Fd input, base::Fd output, std::string_view text)
      : pid_(pid),
        ending_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
        input_(std::move(input)),
        output_(std::move(output)),
        rest_(text) {}

  Ended wait(milliseconds timeout, const Interrupted& interrupted) {
    const Clock::time_point end = Clock::now() + timeout;
    Clock::time_point kill_at = Clock::time_point::max();
    while (!has_ended()) {
      exchange();
      const Clock::time_point now = Clock::now();
      if (now >= kill_at) ::kill(-pid_, SIGKILL);
      if (kill_at != Clock::time_point::max()) continue;
      const bool is_late = now >= end;
      if (!is_late && !interrupted()) continue;
      forced_ = is_late ? Ended::How::kTimedOut : Ended::How::kInterrupted;
      ::kill(-pid_, SIGTERM);
      kill_at = now + kPatience;
    }
    // Those that it has started may hold on.
    if (forced_) ::kill(-pid_, SIGKILL);
    read_output();
    return result();
  }

 private:
  bool has_ended() { return ::waitpid(pid_, &status_, WNOHANG) != 0; }

  /// Waits a moment for the program's end, its output, or its being ready for input.
  void exchange() {
    std::array<pollfd, 3> ready{
        {{ending_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}, {input_.get(), POLLOUT, 0}}};
    if (rest_.empty()) input_.reset();
    ready[2].fd = input_.get();
    ::poll(ready.data(), ready.size(), static_cast<int>(kLook.count()));
    if (ready[1].revents != 0) read_output();
    if (ready[2].revents != 0) write_input();
  }

  void write_input() {
    const ssize_t sent = ::write(input_.get(), rest_.data(), rest_.size());
    if (sent > 0) rest_.remove_prefix(static_cast<std::size_t>(sent));
    // Nobody reads any more, which is the program's own affair.
    if (sent < 0 && errno != EAGAIN && errno != EINTR) rest_ = {};
  }

  void read_output() {
    std::array<char, 4096> buffer{};
    ssize_t size = 0;
    // No program writes so fast that this does not end, but one may try.
    for (int i = 0; i < 64 && output_; ++i) {
      size = ::read(output_.get(), buffer.data(), buffer.size());
      if (size <= 0) break;
      const std::size_t room = kMostOutput - kept_.size();
      kept_.append(buffer.data(), std::min(room, static_cast<std::size_t>(size)));
    }
    if (size == 0) output_.reset();
  }

  Ended result() {
    Ended ended{.output = std::move(kept_)};
    if (WIFEXITED(status_)) {
      ended.code = WEXITSTATUS(status_);
    } else {
      ended.how = Ended::How::kKilled;
      ended.code = WTERMSIG(status_);
    }
    if (forced_) ended.how = *forced_;
    return ended;
  }

  pid_t pid_;
  base::Fd ending_;
  base::Fd input_;
  base::Fd output_;
  std::string_view rest_;
  std::string kept_;
  int status_ = 0;
  std::optional<Ended::How> forced_;
};

}  // namespace

base::Result<Ended> run_to_end(const Command& command, const Interrupted& interrupted) {
  // No sockets: scripts open /dev/stdin.
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (::pipe2(input.data(), O_CLOEXEC) != 0) return base::fail_errno("pipe");
  base::Fd its_input(input[0]);
  base::Fd to(input[1]);
  if (::pipe2(output.data(), O_CLOEXEC) != 0) return base::fail_errno("pipe");
  base::Fd from(output[0]);
  base::Fd its_output(output[1]);
  ::fcntl(to.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  QUARRY_TRY_ASSIGN(
      const pid_t pid,
      base::spawn({.words = command.words,
                   .environment = command.environment,
                   .descriptors = {its_input.get(), its_output.get(), its_output.get()}}));
  its_input.reset();
  its_output.reset();
  return Child(pid, std::move(to), std::move(from), command.input)
      .wait(command.timeout, interrupted);
}

std::vector<std::string> small_environment() {
  std::vector<std::string> environment;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(fmt::format("{}={}", name, value));
    } else if (environment.empty()) {
      environment.push_back(fmt::format("PATH={}", kUsualPath));
    }
  }
  return environment;
}

std::string in_words(const Ended& ended) {
  switch (ended.how) {
    case Ended::How::kExited:
      return fmt::format("exit status {}", ended.code);
    case Ended::How::kKilled:
      return fmt::format("signal {}", ended.code);
    case Ended::How::kTimedOut:
      return "it took too long";
    case Ended::How::kInterrupted:
      return "it was interrupted";
  }
  return {};
}

}  // namespace quarry::courier
