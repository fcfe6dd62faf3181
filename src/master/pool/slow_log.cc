#include "slow_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <exception>

#include "child/spawn.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/time.h"
#include "quarry/scoreboard/state.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using base::printable;

// Seconds for one entry. Reading the tables of a large program with debug information takes one.
constexpr unsigned kBound = 10;

void write_entry(const SlowRequest& request, pid_t master) {
  const auto backtrace = backtrace_of(request.pid, master, request.log.trace_depth);
  if (!backtrace) {
    base::log(LogLevel::kWarning, "[{}] no backtrace of child {}: {}", request.service, request.pid,
              backtrace.error().message);
  }
  if (backtrace) {
    base::log(LogLevel::kDebug, "[{}] child {} stood still for {} us to be looked into",
              request.service, request.pid, backtrace->stood_still.count());
  }
  const std::string entry = fmt::format("[{}] {}", base::iso_micros(scoreboard::wall_micros()),
                                        slow_log_entry(request, backtrace));
  // Opened by name each time: whoever rotates the file need not tell us.
  const base::Fd file(
      ::open(request.log.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file || ::write(file.get(), entry.data(), entry.size()) < 0) {
    base::log(LogLevel::kError, "{}",
              base::fail_errno(fmt::format("cannot write the slow log {}", request.log.path))
                  .error()
                  .message);
  }
}

[[noreturn]] void run_writer(const std::vector<SlowRequest>& requests, pid_t master) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::prctl(PR_SET_NAME, "slow log", 0, 0, 0);
  std::vector<int> kept;
  for (const SlowRequest& request : requests) {
    kept.insert(kept.end(), request.kept_descriptors.begin(), request.kept_descriptors.end());
  }
  close_all_but(std::move(kept));
  try {
    for (const SlowRequest& request : requests) {
      ::alarm(kBound);
      write_entry(request, master);
    }
  } catch (const std::exception& error) {
    base::log(LogLevel::kError, "slow log: {}", error.what());
  }
  ::_exit(0);
}

}  // namespace

std::string slow_log_entry(const SlowRequest& request, const base::Result<Backtrace>& backtrace) {
  const scoreboard::SlotState& state = request.state;
  std::string entry = fmt::format(
      "[{}] pid {}\nrequest = {} \"{}\" ({} bytes)\nuser = {}\nrepository = {}\noperation = {}\n"
      "seconds = {:.3f}\nstage = {}\ndoing = {}\n",
      request.service, request.pid, printable(state.method.view()), printable(state.uri.view()),
      state.content_length, printable(state.user.view()), printable(state.repository.view()),
      printable(state.operation.view()), request.seconds, name_of(state.stage),
      printable(state.doing.view()));
  if (!state.sql.view().empty()) {
    entry += fmt::format("sql = {} ({:.3f} s ago)\n", printable(state.sql.view()),
                         static_cast<double>(request.micros_since_sql) / 1000000);
  }
  if (backtrace) {
    for (const std::string& frame : backtrace->frames) entry += printable(frame, 4096) + "\n";
  } else {
    entry += fmt::format("no backtrace: {}\n", printable(backtrace.error().message, 4096));
  }
  return entry + "\n";
}

void SlowLog::add(SlowRequest request) {
  waiting_.push_back(std::move(request));
}

void SlowLog::flush() {
  if (waiting_.empty() || writer_ > 0) return;
  const pid_t master = ::getpid();
  const SignalsHeld held;
  writer_ = ::fork();
  if (writer_ == 0) {
    put_signals_to_rest();
    run_writer(waiting_, master);
  }
  if (writer_ < 0) {
    base::log(LogLevel::kWarning, "{}",
              base::fail_errno("cannot make a process for the slow log").error().message);
    return;
  }
  waiting_.clear();
}

bool SlowLog::bury(pid_t pid, int status) {
  if (pid != writer_) return false;
  writer_ = -1;
  if (WIFSIGNALED(status)) {
    base::log(LogLevel::kWarning, "the writer of the slow log was ended by signal {}{}",
              WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": a backtrace took too long" : "");
  }
  return true;
}

}  // namespace quarry::master
