// Main function of a child of the execution daemon.

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "children.h"
#include "quarry/base/log.h"
#include "quarry/changes/change_log.h"

namespace quarry::changes {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

void on_stop(int signal) {
  stop_signal = signal;
}

/// Receives lines from the daemon: orders, and stop requests for the current jobs.
class Mailbox {
 public:
  explicit Mailbox(int socket) : socket_(socket) {}

  /// Reads the available bytes. Returns false if the connection is closed.
  bool receive() {
    std::array<char, 1024> bytes{};
    ssize_t count = 0;
    while ((count = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
      received_.append(bytes.data(), static_cast<std::size_t>(count));
    }
    const bool is_open = count < 0 && (errno == EAGAIN || errno == EINTR);
    for (std::size_t end = received_.find('\n'); end != std::string::npos;
         end = received_.find('\n')) {
      take(received_.substr(0, end));
      received_.erase(0, end + 1);
    }
    return is_open;
  }
  std::optional<std::string> next() {
    if (orders_.empty()) return std::nullopt;
    std::string line = std::move(orders_.front());
    orders_.pop_front();
    return line;
  }
  const std::map<ChangeSetId, std::string>& stops() const { return stops_; }
  /// Returns whether the daemon has given the turn since the last order or the last end_turn().
  bool has_turn() const { return has_turn_; }
  void end_turn() { has_turn_ = false; }
  bool must_give_way() const { return must_give_way_; }
  void forget_stops() { stops_.clear(); }
  void wait() const {
    pollfd poll{.fd = socket_, .events = POLLIN, .revents = 0};
    // The timeout is needed because a signal that arrives directly before this call does not
    // interrupt it.
    ::poll(&poll, 1, 1'000);
  }

 private:
  void take(std::string line) {
    constexpr std::string_view kStop = "stop ";
    if (line == kTurn) {
      has_turn_ = true;
      return;
    }
    if (line == kGiveWay) {
      must_give_way_ = true;
      return;
    }
    if (!line.starts_with(kStop)) {
      // A turn or a request that arrived after an interruption is not for this order.
      has_turn_ = must_give_way_ = false;
      return orders_.push_back(std::move(line));
    }
    const std::string_view rest = std::string_view(line).substr(kStop.size());
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const auto id = ChangeSetId::parse(rest.substr(0, space));
    if (id) stops_[*id] = rest.substr(std::min(space + 1, rest.size()));
  }

  int socket_;
  std::string received_;
  std::deque<std::string> orders_;
  std::map<ChangeSetId, std::string> stops_;
  bool has_turn_ = false;
  bool must_give_way_ = false;
};

/// Returns whether the child has to exit after the current jobs.
bool is_exiting() {
  return stop_signal == SIGTERM || stop_signal == SIGUSR1;
}

/// Handles SIGTERM, SIGHUP and SIGUSR1, which request that the current jobs stop. The jobs are also
/// interrupted if DAEMON exits.
class SignalledStop final : public Stop {
 public:
  SignalledStop(Mailbox& mailbox, pid_t daemon) : mailbox_(mailbox), daemon_(daemon) {
    struct sigaction action {};
    action.sa_handler = on_stop;
    ::sigemptyset(&action.sa_mask);
    for (const int signal : {SIGTERM, SIGHUP, SIGUSR1}) ::sigaction(signal, &action, nullptr);
    // Ignore the signals that a terminal sends to the daemon and its children (Ctrl-C), because the
    // daemon stops its children.
    for (const int signal : {SIGINT, SIGQUIT}) ::signal(signal, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }
  std::optional<Verdict> wanted() const override {
    if (stop_signal == SIGUSR1 || ::getppid() != daemon_) return Verdict::kInterrupted;
    if (stop_signal == 0) return std::nullopt;
    return stop_signal == SIGHUP ? Verdict::kAbandoned : Verdict::kTerminated;
  }
  std::optional<std::string> why(const ChangeSetId& id) const override {
    mailbox_.receive();
    const auto& stops = mailbox_.stops();
    // A signal without a stop line applies to all jobs.
    if (stops.empty()) return std::string();
    const auto found = stops.find(id);
    return found == stops.end() ? std::nullopt : std::optional(found->second);
  }
  static void forget() { stop_signal = 0; }

 private:
  Mailbox& mailbox_;
  pid_t daemon_;
};

/// Asks the daemon for the turn to land.
class AskedTurn final : public Turn {
 public:
  AskedTurn(int socket, Mailbox& mailbox, const Stop& stop)
      : socket_(socket), mailbox_(mailbox), stop_(stop) {}

  Result<void> take() override {
    send(kTurn);
    while (mailbox_.receive() && !stop_.wanted()) {
      if (mailbox_.has_turn()) return {};
      mailbox_.wait();
    }
    return fail(ErrorCode::kBusy, "interrupted while other change sets landed");
  }
  void end() override {
    mailbox_.end_turn();
    send(kTurnOver);
  }
  bool must_give_way() override {
    mailbox_.receive();
    return mailbox_.must_give_way();
  }

 private:
  void send(std::string_view word) const {
    const std::string line = fmt::format("{}\n", word);
    // Ignore errors: sending fails only if the daemon has exited.
    [[maybe_unused]] const auto sent = ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL);
  }

  int socket_;
  Mailbox& mailbox_;
  const Stop& stop_;
};

/// A command of the daemon.
struct Order {
  bool is_rollback = false;
  std::vector<ChangeSetName> names;
};

std::optional<Order> order_of(std::string_view line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  Order order{.is_rollback = line.substr(0, space) == "rollback", .names = {}};
  line.remove_prefix(space);
  while (!line.empty()) {
    line.remove_prefix(1);
    const std::size_t end = std::min(line.find(' '), line.size());
    auto name = ChangeSetName::parse(line.substr(0, end));
    if (!name) return std::nullopt;
    order.names.push_back(std::move(*name));
    line.remove_prefix(end);
  }
  if (order.names.empty()) return std::nullopt;
  return order;
}

/// Waits for the next order. Returns nullopt if the connection is closed, or if the child has to
/// stop.
std::optional<Order> next_order(Mailbox& mailbox) {
  bool is_open = mailbox.receive();
  std::optional<std::string> line;
  while (!(line = mailbox.next())) {
    if (!is_open || is_exiting()) return std::nullopt;
    mailbox.wait();
    is_open = mailbox.receive();
  }
  auto order = order_of(*line);
  const bool is_meant = order && std::ranges::any_of(order->names, [&](const auto& name) {
                          return mailbox.stops().contains(name.id);
                        });
  if (is_meant) return order;
  // Discard the stop requests, because none of them is for a job of this order. They are for
  // previous jobs.
  mailbox.forget_stops();
  if (is_exiting()) return std::nullopt;
  SignalledStop::forget();
  return order;
}

Outcome roll_back(Directories& directories, const ChangeSetName& name, Executor& executor,
                  const Stop& stop) {
  const auto troubled = [](Verdict verdict, std::string_view what) {
    base::log(base::LogLevel::kError, "{}", what);
    return Outcome{.verdict = verdict, .why = std::string(kServersTrouble), .landed = {}};
  };
  auto rollback = directories.read(Stage::kRun, name);
  if (!rollback) return troubled(Verdict::kDeferred, rollback.error().message);
  std::vector<Job> landed;
  for (const ChangeSetId& id : rollback->closure) {
    const auto location = directories.find(id);
    if (!location || !*location || (*location)->stage != Stage::kDone) continue;
    auto job = directories.read(Stage::kDone, (*location)->name);
    if (!job) return troubled(Verdict::kDeferred, job.error().message);
    landed.push_back(std::move(*job));
  }
  const ChangeLog log(directories);
  try {
    return executor.roll_back(*rollback, landed, stop, [&](std::string_view text) {
      const auto said = log.say(name.id, text);
      if (!said) base::log(base::LogLevel::kWarning, "{}", said.error().message);
    });
  } catch (const std::exception& error) {
    return troubled(Verdict::kFailed, error.what());
  }
}

}  // namespace

void serve(base::Fd socket, pid_t daemon, const QueueOptions& options, Directories& directories,
           Executor& executor, const base::Clock& clock, bool reports_begin) {
  Mailbox mailbox(socket.get());
  const SignalledStop stop(mailbox, daemon);
  AskedTurn turn(socket.get(), mailbox, stop);
  while (const auto order = next_order(mailbox)) {
    bool is_sent = true;
    const auto send = [&](const std::string& text) {
      // Sending fails only if the daemon has exited.
      is_sent = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
    };
    const auto begun = [&](const ChangeSetId& id) {
      if (reports_begin) send(fmt::format("{}{}\n", kBegun, id.str()));
    };
    const auto ended = [&](std::span<const Verdict> verdicts) {
      std::string answers;
      for (const Verdict verdict : verdicts) {
        answers += line_of({.verdict = verdict, .why = {}, .landed = {}});
      }
      send(answers);
      const auto synced = directories.sync_folders();
      if (!synced) base::log(base::LogLevel::kError, "{}", synced.error().message);
    };
    if (order->is_rollback) {
      send(line_of(roll_back(directories, order->names.front(), executor, stop)));
    } else {
      execute_all(directories, order->names, executor, stop, turn, options.rules, clock, begun,
                  ended);
    }
    if (!is_sent || is_exiting()) return;
    SignalledStop::forget();
    mailbox.forget_stops();
  }
}

}  // namespace quarry::changes
