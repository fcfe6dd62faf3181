#include "config_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "child/spawn.h"
#include "quarry/base/log.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "quarry/master/handover.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{64} << 10;
constexpr std::chrono::seconds kLongest{60};

/// Runs in the child, whose output goes to OUTPUT.
[[noreturn]] void run_check(const CheckedProgram& program, int output) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  std::vector<std::string> arguments = program.arguments;
  arguments.emplace_back("--test");
  ::setenv(kInheritableVariable, program.inheritable.c_str(), 1);
  ::execv(program.path.c_str(), base::pointers_to(arguments).data());
  fmt::print(stderr, "cannot execute {}: {}\n", program.path.string(), std::strerror(errno));
  ::_exit(127);
}

}  // namespace

base::Result<ConfigCheck> ConfigCheck::begin(event_base* base, const CheckedProgram& program) {
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  ::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  auto run = std::make_unique<Run>();
  run->output = std::move(pipe.reading);
  run->pid = ::fork();
  if (run->pid == 0) run_check(program, pipe.writing.get());
  if (run->pid < 0) return base::fail_errno("cannot make a process");
  run->started = steady_clock::now();
  run->event = base::Event(base, run->output.get(), EV_READ | EV_PERSIST,
                           [r = run.get()] { r->take_output(); });
  run->event.wait();
  return ConfigCheck(std::move(run));
}

void ConfigCheck::Run::take_output() {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t size = ::read(output.get(), bytes.data(), bytes.size());
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) event.stop_waiting();
    if (size <= 0) return;
    const std::size_t room = kMostOutput - std::min(kMostOutput, text.size());
    text.append(bytes.data(), std::min(static_cast<std::size_t>(size), room));
  }
}

void ConfigCheck::escalate() const {
  if (steady_clock::now() - run_->started > kLongest) kill();
}

void ConfigCheck::kill() const {
  ::kill(run_->pid, SIGKILL);
}

bool ConfigCheck::conclude(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  run_->take_output();
  const std::string& text = run_->text;
  base::log(LogLevel::kError, "not reloaded: the new configuration, or the new program, is wrong");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    base::log(LogLevel::kError, "  {}",
              base::printable(std::string_view(text).substr(at, end - at), 1000));
    at = end + 1;
  }
  return false;
}

}  // namespace quarry::master
