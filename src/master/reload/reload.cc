// Becoming a new master without losing a connection.
//
//   SIGUSR2 ─> the program is run with --test ─> wrong: the log says why, nothing else happens
//                                             └> right: execve(2) of the program, in this process
//
// What it takes over is in handover.h: the listening sockets, which stay open all the time, the
// scoreboards (succession.cc), and the children, which stay this process's. The new master starts
// its own children first, and then asks the elders to finish (SIGQUIT): idle ones end at once,
// others after their request, within process_control_timeout. A reload in the middle of another is
// checked once more; one in the middle of a stop is none. Where execve(2) fails, everything goes on
// as before.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "loop.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{64} << 10;
constexpr seconds kLongestCheck{60};
// How long an elder may take from SIGTERM to SIGKILL.
constexpr std::int64_t kTerminateMicros = 5'000'000;

std::vector<char*> pointers_to(std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child: PROGRAM with its words going to OUTPUT.
[[noreturn]] void run_check(const std::filesystem::path& program,
                            std::vector<std::string> arguments, const std::string& inheritable,
                            int output) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  arguments.emplace_back("--test");
  ::setenv(kInheritableVariable, inheritable.c_str(), 1);
  ::execv(program.c_str(), pointers_to(arguments).data());
  fmt::print(stderr, "cannot execute {}: {}\n", program.string(), std::strerror(errno));
  ::_exit(127);
}

void hand_over(const Listener& listener, Handover& handover) {
  if (listener.fd() < 0) return;
  handover.sockets.push_back(
      {listener.asked_for(), base::Fd(listener.fd()), listener.is_ours(), listener.file()});
}

}  // namespace

void Master::Loop::ask_for_reload(bool is_emergency) {
  if (phase_ != Phase::kRunning) return;
  if (reload_.program.empty()) {
    return base::log(LogLevel::kWarning, "this master does not know how to reload");
  }
  if (check_) {
    check_->is_outdated = true;
    check_->is_emergency |= is_emergency;
    return;
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return base::log(LogLevel::kError, "reload: {}",
                     base::fail_errno("cannot make a pipe").error().message);
  }
  base::Fd reading(ends[0]);
  const base::Fd writing(ends[1]);
  ::fcntl(writing.get(), F_SETFL, 0);
  std::string inheritable;
  for (const auto& group : groups_) inheritable += group->service.listener.asked_for() + "\n";
  inheritable += control_.listener.asked_for() + "\n";
  const pid_t pid = ::fork();
  if (pid == 0) run_check(reload_.program, reload_.arguments, inheritable, writing.get());
  if (pid < 0) {
    return base::log(LogLevel::kError, "reload: {}",
                     base::fail_errno("cannot make a process").error().message);
  }
  base::log(LogLevel::kNotice, "reloading: checking the configuration");
  check_.emplace();
  check_->pid = pid;
  check_->output = std::move(reading);
  check_->started = steady_clock::now();
  check_->is_emergency = is_emergency;
  check_->on_output = [this] { take_check_output(); };
  check_->event = make_event(check_->output.get(), EV_READ | EV_PERSIST, check_->on_output);
  ::event_add(check_->event.get(), nullptr);
}

void Master::Loop::take_check_output() {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t size = ::read(check_->output.get(), bytes.data(), bytes.size());
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
      ::event_del(check_->event.get());
    }
    if (size <= 0) return;
    const std::size_t room = kMostOutput - std::min(kMostOutput, check_->text.size());
    check_->text.append(bytes.data(), std::min(static_cast<std::size_t>(size), room));
  }
}

void Master::Loop::check_is_over(int status) {
  take_check_output();
  const std::string text = std::move(check_->text);
  const bool is_outdated = check_->is_outdated;
  const bool is_emergency = check_->is_emergency;
  check_.reset();
  if (phase_ != Phase::kRunning) return;
  if (is_outdated) return ask_for_reload(is_emergency);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return execute_again();
  base::log(LogLevel::kError, "not reloaded: the new configuration, or the new program, is wrong");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    base::log(LogLevel::kError, "  {}",
              base::printable(std::string_view(text).substr(at, end - at), 1000));
    at = end + 1;
  }
  // With the old configuration, then: each ends after its request, and bury() starts another.
  if (is_emergency) signal_children(SIGQUIT, [](ServiceKind) { return true; });
}

void Master::Loop::execute_again() {
  Handover handover;
  handover.generation = reload_.generation + 1;
  handover.notes = reload_.notes;
  hand_over(control_.listener, handover);
  for (const auto& group : groups_) hand_over(group->service.listener, handover);
  hand_over_boards(handover);
  hand_over_children(handover);
  const base::Error failure = execute(handover);
  take_back(handover);
  base::log(LogLevel::kError, "not reloaded: {}", failure.message);
}

/// Comes back only where it fails.
base::Error Master::Loop::execute(const Handover& handover) {
  const auto written = write_handover(handover);
  if (!written) return written.error();
  base::log(LogLevel::kNotice, "reloading: generation {} becomes {}", reload_.generation,
            handover.generation);
  base::notify_service_manager(fmt::format("RELOADING=1\nSTATUS=reloading\nMONOTONIC_USEC={}",
                                           scoreboard::monotonic_micros()));
  ::setenv(kHandoverVariable, std::to_string(written->get()).c_str(), 1);
  std::vector<std::string> arguments = reload_.arguments;
  ::execv(reload_.program.c_str(), pointers_to(arguments).data());
  auto failed =
      base::fail_errno(fmt::format("cannot execute {}", reload_.program.string())).error();
  ::unsetenv(kHandoverVariable);
  base::notify_service_manager("READY=1\nSTATUS=" + status_line());
  return failed;
}

void Master::Loop::ask_elders() {
  for (Elder& elder : reload_.elders) {
    if (elder.asked_at != 0) continue;
    elder.asked_at = scoreboard::monotonic_micros();
    ::kill(elder.pid, SIGQUIT);
  }
  if (reload_.elders.empty()) return;
  base::log(LogLevel::kNotice, "generation {}: {} children of earlier ones finish",
            reload_.generation, reload_.elders.size());
}

void Master::Loop::press_elders() {
  if (check_ && steady_clock::now() - check_->started > kLongestCheck) {
    ::kill(check_->pid, SIGKILL);
  }
  const std::int64_t now = scoreboard::monotonic_micros();
  const std::int64_t grace = std::chrono::microseconds(global_.process_control_timeout).count();
  for (Elder& elder : reload_.elders) {
    const std::int64_t late = now - elder.asked_at - grace;
    if (late < 0) continue;
    const bool is_last = late >= kTerminateMicros;
    if (!is_last && std::exchange(elder.is_terminated, true)) continue;
    base::log(LogLevel::kWarning,
              "[{}] child {} of generation {} does not end within {:.1f} s, and is {}",
              elder.service, elder.pid, elder.generation,
              static_cast<double>(grace + late) / 1'000'000, is_last ? "killed" : "terminated");
    ::kill(elder.pid, is_last ? SIGKILL : SIGTERM);
  }
}

bool Master::Loop::bury_elder(pid_t pid, int status) {
  const auto at = std::ranges::find(reload_.elders, pid, &Elder::pid);
  if (at == reload_.elders.end()) return false;
  const bool exited_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  base::log(exited_well || phase_ != Phase::kRunning ? LogLevel::kDebug : LogLevel::kWarning,
            "[{}] child {} of generation {} {}", at->service, pid, at->generation,
            how_it_ended(status));
  if (const auto output = elder_outputs_.extract(pid)) output.mapped()->finish();
  const std::string service = at->service;
  const std::optional<std::size_t> slot = at->slot;
  reload_.elders.erase(at);
  for (const auto& group : groups_) {
    if (group->service.name == service) take_leave(*group, slot);
  }
  if (reload_.elders.empty()) {
    base::log(LogLevel::kNotice, "the children of earlier generations have ended");
  }
  if (phase_ == Phase::kRunning) count_crash(status);
  return true;
}

}  // namespace quarry::master
