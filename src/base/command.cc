#include "quarry/base/command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/memory_file.h"
#include "quarry/base/pipe.h"

namespace quarry::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPollInterval{200};
/// Time between SIGTERM and SIGKILL.
constexpr milliseconds kPatience{2000};

/// A running program with a supervisor.
class RunningCommand {
 public:
  RunningCommand(pid_t pid, Fd output, std::size_t max_output)
      : pid_(pid),
        ending_(process_handle(pid)),
        output_(std::move(output)),
        max_output_(max_output) {}

  CommandEnd wait(milliseconds timeout, const std::function<bool()>& interrupted) {
    const steady_clock::time_point end = steady_clock::now() + timeout;
    steady_clock::time_point kill_at = steady_clock::time_point::max();
    while (!has_ended()) {
      poll_briefly();
      const steady_clock::time_point now = steady_clock::now();
      if (now >= kill_at) end_supervised(pid_);
      if (kill_at != steady_clock::time_point::max()) continue;
      const bool is_late = now >= end;
      if (!is_late && !interrupted()) continue;
      forced_ = is_late ? CommandEnd::How::kTimedOut : CommandEnd::How::kInterrupted;
      ::kill(pid_, SIGTERM);
      kill_at = now + kPatience;
    }
    read_output();
    return result();
  }

 private:
  bool has_ended() { return ::waitpid(pid_, &status_, WNOHANG) != 0; }

  /// Waits a short time for the program to write output or to exit.
  void poll_briefly() {
    std::array<pollfd, 2> ready{{{ending_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), static_cast<int>(kPollInterval.count()));
    if (ready[1].revents != 0) read_output();
  }

  void read_output() {
    std::array<char, 65536> buffer{};
    ssize_t size = 0;
    // Limit the number of reads, in case the program writes without a pause.
    for (int i = 0; i < 64 && output_; ++i) {
      size = ::read(output_.get(), buffer.data(), buffer.size());
      if (size <= 0) break;
      const std::size_t room = max_output_ - kept_.size();
      kept_.append(buffer.data(), std::min(room, static_cast<std::size_t>(size)));
    }
    if (size == 0) output_.reset();
  }

  CommandEnd result() {
    CommandEnd end{.output = std::move(kept_)};
    if (WIFEXITED(status_)) {
      end.code = WEXITSTATUS(status_);
    } else {
      end.how = CommandEnd::How::kKilled;
      end.code = WTERMSIG(status_);
    }
    if (forced_) end.how = *forced_;
    return end;
  }

  pid_t pid_;
  Fd ending_;
  Fd output_;
  std::size_t max_output_;
  std::string kept_;
  int status_ = 0;
  std::optional<CommandEnd::How> forced_;
};

}  // namespace

std::string CommandEnd::in_words() const {
  switch (how) {
    case How::kExited:
      return fmt::format("exit status {}", code);
    case How::kKilled:
      return fmt::format("signal {}", code);
    case How::kTimedOut:
      return "timed out";
    case How::kInterrupted:
      return "interrupted";
  }
  return {};
}

Result<CommandEnd> run_command(const Command& command, const std::function<bool()>& interrupted) {
  // The input is a memory file, because reading a file never blocks and a program can reopen it as
  // /dev/stdin.
  QUARRY_TRY_ASSIGN(const Fd input, memory_file(command.input));
  QUARRY_TRY_ASSIGN(Pipe output, make_pipe());
  ::fcntl(output.reading.get(), F_SETFL, O_NONBLOCK);
  const int its_output = output.writing.get();
  QUARRY_TRY_ASSIGN(const pid_t pid, spawn({.words = command.words,
                                            .environment = command.environment,
                                            .descriptors = {input.get(), its_output, its_output},
                                            .folder = command.folder,
                                            .supervision = command.background}));
  output.writing.reset();
  return RunningCommand(pid, std::move(output.reading), command.max_output)
      .wait(command.timeout, interrupted);
}

}  // namespace quarry::base
