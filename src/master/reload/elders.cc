#include "elders.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <csignal>

#include <algorithm>
#include <utility>

#include "pool/children.h"
#include "quarry/base/log.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {
namespace {

using base::LogLevel;

// How long an elder may take from SIGTERM to SIGKILL.
constexpr std::int64_t kTerminateMicros = 5'000'000;

}  // namespace

void Elders::go_on_listening(event_base* base, OnMessage on_message) {
  on_message_ = std::move(on_message);
  for (Elder& elder : elders_) {
    if (elder.control) {
      Line& line = lines_[elder.pid];
      line.service = elder.service;
      line.channel = control::Channel(std::move(elder.control));
      line.on_control = base::Event(base, line.channel.fd(), EV_READ | EV_PERSIST,
                                    [this, &line, pid = elder.pid] { read_control(line, pid); });
      line.on_control.wait();
    }
    if (!elder.output) continue;
    outputs_[elder.pid] = std::make_unique<ChildOutput>(
        base, fmt::format("[{}] child {}", elder.service, elder.pid), std::move(*elder.output));
    elder.output.reset();
  }
}

void Elders::read_control(Line& line, pid_t pid) {
  const auto last = take_messages(
      line.channel, [&](const control::Message& message) { on_message_(line.service, message); });
  if (last == control::Received::kNothing) return;
  if (last == control::Received::kMalformed) {
    base::log(LogLevel::kWarning, "[{}] child {} wrote what is no message: its channel is closed",
              line.service, pid);
  }
  line.on_control.stop_waiting();
  line.channel.close();
}

void Elders::ask_those_who_may_end() {
  for (Elder& elder : elders_) {
    const auto is_before = [&elder](const Elder& other) {
      return !other.ends_last && other.generation <= elder.generation;
    };
    if (elder.asked_at != 0) continue;
    if (elder.ends_last && std::ranges::any_of(elders_, is_before)) continue;
    elder.asked_at = scoreboard::monotonic_micros();
    ::kill(elder.pid, elder.quit_signal);
  }
}

void Elders::ask() {
  is_asking_ = true;
  ask_those_who_may_end();
  if (elders_.empty()) return;
  base::log(LogLevel::kNotice, "generation {}: {} children of earlier ones finish",
            situation_.generation, elders_.size());
}

void Elders::press() {
  const std::int64_t now = scoreboard::monotonic_micros();
  const std::int64_t grace = std::chrono::microseconds(situation_.process_control_timeout).count();
  for (Elder& elder : elders_) {
    const std::int64_t late = now - elder.asked_at - grace;
    if (elder.asked_at == 0 || late < 0) continue;
    const bool is_last = late >= kTerminateMicros;
    if (!is_last && std::exchange(elder.is_terminated, true)) continue;
    base::log(LogLevel::kWarning,
              "[{}] child {} of generation {} does not end within {:.1f} s, and is {}",
              elder.service, elder.pid, elder.generation,
              static_cast<double>(grace + late) / 1'000'000, is_last ? "killed" : "terminated");
    ::kill(elder.pid, is_last ? SIGKILL : SIGTERM);
  }
}

std::optional<Elders::Departed> Elders::bury(pid_t pid, int status) {
  const auto at = std::ranges::find(elders_, pid, &Elder::pid);
  if (at == elders_.end()) return std::nullopt;
  const bool exited_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  base::log(exited_well || !situation_.is_running ? LogLevel::kDebug : LogLevel::kWarning,
            "[{}] child {} of generation {} {}", at->service, pid, at->generation,
            how_it_ended(status));
  if (const auto output = outputs_.extract(pid)) output.mapped()->finish();
  if (auto line = lines_.extract(pid); line && line.mapped().channel.fd() >= 0) {
    read_control(line.mapped(), pid);  // its last words
  }
  Departed departed{std::move(at->service), at->slot};
  elders_.erase(at);
  if (is_asking_) ask_those_who_may_end();
  if (elders_.empty()) {
    base::log(LogLevel::kNotice, "the children of earlier generations have ended");
  }
  return departed;
}

void Elders::signal(int number) const {
  for (const Elder& elder : elders_) ::kill(elder.pid, number);
}

std::size_t Elders::count_of(const std::string& service) const {
  return static_cast<std::size_t>(std::ranges::count(elders_, service, &Elder::service));
}

void Elders::for_each_on_board(const std::string& service,
                               const std::function<void(Elder&)>& visit) {
  for (Elder& elder : elders_) {
    if (elder.service == service && elder.slot) visit(elder);
  }
}

void Elders::leave_board(const std::string& service) {
  for_each_on_board(service, [](Elder& elder) { elder.slot.reset(); });
}

void Elders::hand_over(Handover& handover) const {
  for (const Elder& elder : elders_) {
    handover.elders.push_back({.pid = elder.pid,
                               .service = elder.service,
                               .generation = elder.generation,
                               .asked_at = elder.asked_at,
                               .quit_signal = elder.quit_signal,
                               .ends_last = elder.ends_last,
                               .control = {},
                               .slot = elder.slot,
                               .output = {},
                               .slow_request = elder.slow_request});
    const auto line = lines_.find(elder.pid);
    if (line != lines_.end()) {
      handover.elders.back().control = base::Fd(line->second.channel.fd());
    }
    const auto output = outputs_.find(elder.pid);
    if (output != outputs_.end()) handover.elders.back().output = output->second->hand_over();
  }
}

}  // namespace quarry::master
