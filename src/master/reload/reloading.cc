#include "reloading.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <utility>

#include "pool/children.h"
#include "quarry/base/duration.h"
#include "quarry/base/log.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "quarry/base/split.h"
#include "quarry/master/handover.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::steady_clock;

constexpr std::size_t kMaxCheckOutput = std::size_t{64} << 10;
constexpr std::chrono::seconds kLongestCheck{60};

}  // namespace

bool Reloading::ask(bool is_emergency) {
  if (!master_state_.is_running) return true;
  if (check_) {
    is_outdated_ = true;
    is_emergency_ |= is_emergency;
    return true;
  }
  if (const auto begun = begin_check(program_to_check_()); !begun) {
    base::log(LogLevel::kError, "not reloaded: {}", begun.error().message);
    return false;
  }
  base::log(LogLevel::kNotice, "reloading: checking the configuration");
  is_outdated_ = false;
  is_emergency_ = is_emergency;
  return true;
}

Result<void> Reloading::begin_check(const CheckedProgram& program) {
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  ::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  const base::Fd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int output = pipe.writing.get();
  base::Launch launch{.words = program.arguments,
                      .program = program.path,
                      .descriptors = {input.get(), output, output},
                      .folder = {}};
  launch.words.emplace_back("--test");
  launch.environment.push_back(fmt::format("{}={}", kInheritableVariable, program.inheritable));
  QUARRY_TRY_ASSIGN(const pid_t pid, base::spawn(launch));
  check_ = Check{.pid = pid,
                 .output = std::move(pipe.reading),
                 .text = {},
                 .event = {},
                 .started = steady_clock::now()};
  check_->event =
      base::Event(base_, check_->output.get(), EV_READ | EV_PERSIST, [this] { take_output(); });
  check_->event.wait();
  return {};
}

void Reloading::take_output() {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t size = ::read(check_->output.get(), bytes.data(), bytes.size());
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) check_->event.stop_waiting();
    if (size <= 0) return;
    const std::size_t room = kMaxCheckOutput - check_->text.size();
    check_->text.append(bytes.data(), std::min(static_cast<std::size_t>(size), room));
  }
}

AfterCheck Reloading::check_ended(int status) {
  take_output();
  const std::string output = std::move(check_->text);
  const bool took_too_long = steady_clock::now() - check_->started > kLongestCheck;
  check_.reset();
  if (!master_state_.is_running) return AfterCheck::kNothing;
  const auto if_failed = is_emergency_ ? AfterCheck::kReplaceChildren : AfterCheck::kNothing;
  if (is_outdated_) return ask(is_emergency_) ? AfterCheck::kNothing : if_failed;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return AfterCheck::kExecute;
  const std::string reason =
      took_too_long         ? fmt::format("took longer than {}", base::in_words(kLongestCheck))
      : WIFSIGNALED(status) ? how_it_ended(status) + "; the program might be damaged"
                            : how_it_ended(status);
  base::log(LogLevel::kError, "not reloaded: {} --test {}",
            base::printable(program_to_check_().path.string()), reason);
  for (std::string_view rest = output; !rest.empty();) {
    base::log(LogLevel::kError, "  {}", base::printable(base::take_until(rest, '\n'), 1000));
  }
  return if_failed;
}

void Reloading::escalate() const {
  if (check_ && steady_clock::now() - check_->started > kLongestCheck) abandon();
}

void Reloading::abandon() const {
  if (check_) ::kill(check_->pid, SIGKILL);
}

}  // namespace quarry::master
