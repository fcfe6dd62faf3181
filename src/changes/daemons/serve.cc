// The life of a child.

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include "children.h"
#include "quarry/base/log.h"
#include "quarry/changes/change_log.h"

namespace quarry::changes {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

void on_stop(int signal) {
  stop_signal = signal;
}

/// SIGTERM and SIGHUP, as they come while a job is in hand.
class SignalledStop final : public Stop {
 public:
  SignalledStop() {
    struct sigaction action {};
    action.sa_handler = on_stop;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGHUP, &action, nullptr);
    // What stops the daemon lets its children end what they have.
    for (const int signal : {SIGINT, SIGQUIT}) ::signal(signal, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }
  std::optional<Verdict> wanted() const override {
    if (stop_signal == 0) return std::nullopt;
    return stop_signal == SIGHUP ? Verdict::kAbandoned : Verdict::kTerminated;
  }
  static void forget() { stop_signal = 0; }
};

/// The next line from SOCKET; nothing at its end, or when the child is to stop.
std::optional<std::string> next_line(int socket, std::string& received) {
  while (received.find('\n') == std::string::npos) {
    pollfd poll{.fd = socket, .events = POLLIN, .revents = 0};
    // A signal that comes just before is seen a second later.
    const int ready = ::poll(&poll, 1, 1'000);
    if (stop_signal == SIGTERM) return std::nullopt;
    // One that came too late for its job.
    if (stop_signal == SIGHUP) SignalledStop::forget();
    if (ready <= 0) continue;
    std::array<char, 1024> bytes{};
    const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return std::nullopt;
    if (count > 0) received.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = received.find('\n');
  std::string line = received.substr(0, end);
  received.erase(0, end + 1);
  return line;
}

Outcome take_back(Directories& directories, const ChangeSetName& name, Executor& executor,
                  const Stop& stop) {
  auto rollback = directories.read(Stage::kRun, name);
  if (!rollback) {
    return {.verdict = Verdict::kPutOff, .why = rollback.error().message, .landed = {}};
  }
  std::vector<Job> landed;
  for (const ChangeSetId& id : rollback->closure) {
    const auto place = directories.find(id);
    if (!place || !*place || (*place)->stage != Stage::kDone) continue;
    auto job = directories.read(Stage::kDone, (*place)->name);
    if (!job) return {.verdict = Verdict::kPutOff, .why = job.error().message, .landed = {}};
    landed.push_back(std::move(*job));
  }
  const ChangeLog log(directories);
  try {
    return executor.take_back(*rollback, landed, stop, [&](std::string_view text) {
      const auto said = log.say(name.id, text);
      if (!said) base::log(base::LogLevel::kWarning, "{}", said.error().message);
    });
  } catch (const std::exception& error) {
    return {.verdict = Verdict::kFailed,
            .why = fmt::format("it broke off: {}", error.what()),
            .landed = {}};
  }
}

}  // namespace

void serve(base::Fd socket, const QueueOptions& options, Directories& directories,
           Executor& executor, const base::Clock& clock) {
  const SignalledStop stop;
  std::string received;
  while (auto line = next_line(socket.get(), received)) {
    const std::size_t space = std::min(line->find(' '), line->size());
    const auto name =
        ChangeSetName::parse(std::string_view(*line).substr(std::min(space + 1, line->size())));
    if (!name) return;
    Outcome outcome;
    if (line->substr(0, space) == "rollback") {
      outcome = take_back(directories, *name, executor, stop);
    } else {
      outcome.verdict = execute(directories, *name, executor, stop, options.rules, clock);
    }
    const std::string answer = line_of(outcome);
    const bool is_heard = ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) > 0;
    const auto settled = directories.settle();
    if (!settled) base::log(base::LogLevel::kError, "{}", settled.error().message);
    if (!is_heard) return;
    if (stop_signal == SIGTERM) return;
    SignalledStop::forget();
  }
}

}  // namespace quarry::changes
