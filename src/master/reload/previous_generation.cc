#include "previous_generation.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <csignal>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pool/children.h"
#include "quarry/base/log.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {
namespace {

using base::LogLevel;

// Time between SIGTERM and SIGKILL.
constexpr std::int64_t kTerminateMicros = 5'000'000;

}  // namespace

std::vector<PreviousChild> PreviousGeneration::take_latest(const std::string& service) {
  const auto taken = std::ranges::stable_partition(children_, [&](const PreviousChild& child) {
    return child.service != service || child.asked_at != 0 ||
           child.generation + 1 != master_state_.generation;
  });
  std::vector<PreviousChild> latest(std::move_iterator(taken.begin()),
                                    std::move_iterator(taken.end()));
  children_.erase(taken.begin(), taken.end());
  return latest;
}

void PreviousGeneration::go_on_listening(event_base* base, OnMessage on_message) {
  on_message_ = std::move(on_message);
  for (PreviousChild& child : children_) {
    if (child.control) {
      Line& line = lines_[child.pid];
      line.service = child.service;
      line.channel = control::Channel(std::move(child.control));
      line.on_control = base::Event(base, line.channel.fd(), EV_READ | EV_PERSIST,
                                    [this, &line, pid = child.pid] { read_control(line, pid); });
      line.on_control.wait();
    }
    if (!child.output) continue;
    outputs_[child.pid] = std::make_unique<ChildOutput>(
        base, fmt::format("[{}] child {}", child.service, child.pid), std::move(*child.output));
    child.output.reset();
  }
}

void PreviousGeneration::read_control(Line& line, pid_t pid) {
  const auto last = take_messages(
      line.channel, [&](const control::Message& message) { on_message_(line.service, message); });
  if (last == control::Received::kNothing) return;
  if (last == control::Received::kMalformed) {
    base::log(LogLevel::kWarning, "[{}] child {} sent an invalid message; closing its channel",
              line.service, pid);
  }
  line.on_control.stop_waiting();
  line.channel.close();
}

void PreviousGeneration::ask_next_to_end() {
  for (PreviousChild& child : children_) {
    const auto is_before = [&child](const PreviousChild& other) {
      return !other.ends_last && other.generation <= child.generation;
    };
    if (child.asked_at != 0) continue;
    if (child.ends_last && std::ranges::any_of(children_, is_before)) continue;
    child.asked_at = scoreboard::monotonic_micros();
    ::kill(child.pid, child.quit_signal);
  }
}

void PreviousGeneration::ask() {
  is_asking_ = true;
  ask_next_to_end();
  if (children_.empty()) return;
  base::log(LogLevel::kNotice, "generation {}: {} children of earlier generations are finishing",
            master_state_.generation, children_.size());
}

void PreviousGeneration::escalate() {
  const std::int64_t now = scoreboard::monotonic_micros();
  const std::int64_t grace =
      std::chrono::microseconds(master_state_.process_control_timeout).count();
  for (PreviousChild& child : children_) {
    const std::int64_t late = now - child.asked_at - grace;
    if (child.ends_by_itself || child.asked_at == 0 || late < 0) continue;
    const bool is_last = late >= kTerminateMicros;
    if (!is_last && std::exchange(child.is_terminated, true)) continue;
    base::log(LogLevel::kWarning,
              "[{}] child {} of generation {} did not exit within {:.1f} s and is {}",
              child.service, child.pid, child.generation,
              static_cast<double>(grace + late) / 1'000'000, is_last ? "killed" : "terminated");
    ::kill(child.pid, is_last ? SIGKILL : SIGTERM);
  }
}

std::optional<PreviousGeneration::Departed> PreviousGeneration::reap(pid_t pid, int status) {
  const auto at = std::ranges::find(children_, pid, &PreviousChild::pid);
  if (at == children_.end()) return std::nullopt;
  // The quit signal kills a child that does not handle it (yet), which is not a failure.
  const bool ended_as_asked =
      (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
      (at->asked_at != 0 && WIFSIGNALED(status) && WTERMSIG(status) == at->quit_signal);
  base::log(ended_as_asked || !master_state_.is_running ? LogLevel::kDebug : LogLevel::kWarning,
            "[{}] child {} of generation {} {}", at->service, pid, at->generation,
            how_it_ended(status));
  if (const auto output = outputs_.extract(pid)) output.mapped()->finish();
  if (auto line = lines_.extract(pid); line && line.mapped().channel.fd() >= 0) {
    read_control(line.mapped(), pid);
  }
  Departed departed{std::move(at->service), at->slot};
  children_.erase(at);
  if (is_asking_) ask_next_to_end();
  if (children_.empty()) {
    base::log(LogLevel::kNotice, "the children of earlier generations have exited");
  }
  return departed;
}

void PreviousGeneration::signal(int number) const {
  for (const PreviousChild& child : children_) ::kill(child.pid, number);
}

void PreviousGeneration::send_logs(const Service& service) const {
  for (const auto& [pid, line] : lines_) {
    if (line.service == service.name) send_logs_to(pid, line.channel, service);
  }
}

std::size_t PreviousGeneration::count_of(const std::string& service) const {
  return static_cast<std::size_t>(std::ranges::count(children_, service, &PreviousChild::service));
}

void PreviousGeneration::for_each_on_board(const std::string& service,
                                           const std::function<void(PreviousChild&)>& visit) {
  for (PreviousChild& child : children_) {
    if (child.service == service && child.slot) visit(child);
  }
}

void PreviousGeneration::leave_board(const std::string& service) {
  for_each_on_board(service, [](PreviousChild& child) { child.slot.reset(); });
}

void PreviousGeneration::hand_over(Handover& handover) const {
  for (const PreviousChild& child : children_) {
    handover.previous_children.push_back({.pid = child.pid,
                                          .service = child.service,
                                          .generation = child.generation,
                                          .asked_at = child.asked_at,
                                          .quit_signal = child.quit_signal,
                                          .ends_last = child.ends_last,
                                          .ends_by_itself = child.ends_by_itself,
                                          .control = {},
                                          .slot = child.slot,
                                          .output = {},
                                          .slow_request = child.slow_request});
    const auto line = lines_.find(child.pid);
    if (line != lines_.end()) {
      handover.previous_children.back().control = base::Fd(line->second.channel.fd());
    }
    const auto output = outputs_.find(child.pid);
    if (output != outputs_.end())
      handover.previous_children.back().output = output->second->hand_over();
  }
}

}  // namespace quarry::master
