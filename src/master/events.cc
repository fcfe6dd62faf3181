// The event handlers of the master's loop.
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <optional>
#include <string>

#include "loop.h"
#include "pool/request_bounds.h"
#include "quarry/base/duration.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/service_manager.h"
#include "reload/succession.h"

namespace quarry::master {
namespace {

using base::LogLevel;

// The key of a note for the next master: the time of the last emergency restart, from
// monotonic_micros().
constexpr const char* kEmergencyNote = "emergency";

}  // namespace

void Loop::take_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    switch (signal.ssi_signo) {
      case SIGCHLD:
        reap_ended_children();
        break;
      case SIGQUIT:
        // The first SIGQUIT stops gracefully, a second SIGQUIT immediately.
        stop(master_state_.is_running);
        break;
      case SIGUSR1:
        reopen_logs();
        break;
      case SIGUSR2:
        reloading_->ask(false);
        break;
      case SIGHUP:
        if (reload_.on_hangup) {
          reloading_->ask(false);
        } else {
          stop(false);
        }
        break;
      default:
        stop(false);
        break;
    }
  }
}

void Loop::second_passed() {
  if (master_state_.is_running) {
    for (const auto& one : services_) one->starter->second_passed();
  }
  reloading_->escalate();
  previous_generation_.escalate();
}

void Loop::check_requests() {
  for (const auto& one : services_) {
    if (smallest_request_bound(one->service()).count() == 0) continue;
    check_request_bounds(one->children);
    previous_generation_.for_each_on_board(one->service().name, [&](PreviousChild& child) {
      check_request_bounds(one->children, {child.pid, *child.slot, child.slow_request});
    });
  }
}

void Loop::on_message(const Service& from, std::uint32_t job, const control::Message& message) {
  if (!pass_to_jobs(from.name, message) && from.on_message) from.on_message(job, message);
}

bool Loop::pass_to_jobs(const std::string& from, const control::Message& message) {
  for (const auto& one : services_) {
    if (one->jobs == nullptr) continue;
    const OnRequest& kind = *one->service().on_request;
    if (kind.verb != message.verb || std::ranges::find(kind.from, from) == kind.from.end())
      continue;
    one->jobs->asked(from, message.number, std::chrono::seconds(message.delay));
    return true;
  }
  return false;
}

void Loop::reap_ended_children() {
  int status = 0;
  std::optional<int> status_of_check;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
       pid = ::waitpid(-1, &status, WNOHANG)) {
    if (reloading_->is_check(pid)) {
      status_of_check = status;
    } else {
      reap(pid, status);
    }
  }
  go_on_stopping();
  if (!status_of_check) return;
  // The result of the check is handled last. If it is successful, this process executes the new
  // master, which cannot learn about children that were already reaped.
  switch (reloading_->check_ended(*status_of_check)) {
    case AfterCheck::kNothing:
      return;
    case AfterCheck::kExecute:
      return execute_again();
    case AfterCheck::kReplaceChildren:
      return replace_children();
  }
}

void Loop::reap(pid_t pid, int status) {
  if (const auto departed = previous_generation_.reap(pid, status))
    return reap_previous_child(*departed, status);
  for (const auto& one : services_) {
    const auto remains = one->children.reap(pid, status);
    if (remains) return reap_child(*one, *remains, status);
  }
}

void Loop::reap_child(RunningService& service, const Remains& remains, int status) {
  if (!master_state_.is_running) return;
  if (!service.service().is_program()) count_crash(status);
  const auto is_short = [](const RunningService& one) {
    return one.children.watch().state().held_back > 0;
  };
  if (service.starter->child_ended(remains) == Vacancy::kFree) {
    // First offer the free place to pools without workers. Such pools have priority over the pool
    // of the child that has just ended.
    for (const auto& one : services_) {
      if (is_short(*one) && one->children.count() == 0) one->starter->room_available();
    }
    service.starter->fill_vacancy(remains);
  }
  // If a place is still free, offer it to the pools that process.max has held back.
  for (const auto& one : services_) {
    if (is_short(*one)) one->starter->room_available();
  }
}

void Loop::reap_previous_child(const PreviousGeneration::Departed& departed, int status) {
  bool is_program = false;
  for (const auto& one : services_) {
    if (one->service().name != departed.service) continue;
    is_program = one->service().is_program();
    one->children.reap_previous_child(departed.slot,
                                      previous_generation_.count_of(departed.service));
    // Start a new child if the service was waiting for this child to exit.
    if (master_state_.is_running && one->service().starts_alone) one->starter->room_available();
  }
  if (master_state_.is_running && !is_program) count_crash(status);
}

// Crashes of programs do not count, because programs do not share memory with the master's
// children. A client that can crash a job must not be able to cause the replacement of all workers.
void Loop::count_crash(int status) {
  const bool has_crashed = WIFSIGNALED(status) && EmergencyRestart::is_crash(WTERMSIG(status));
  if (has_crashed && emergency_.after_crash(std::chrono::steady_clock::now())) on_emergency();
}

// Lets each child exit after its current requests, and then replaces it. The listening sockets stay
// open, so connections are not refused. If the crashes continue within emergency_restart_interval,
// the children are not replaced again. The increasing delay between restarts then protects the
// machine.
void Loop::on_emergency() {
  const std::int64_t now = scoreboard::monotonic_micros();
  std::string& note = reload_.notes[kEmergencyNote];
  const auto last = base::parse_number<std::int64_t>(note);
  const bool is_again =
      last && now - *last < std::chrono::microseconds(global_.emergency_restart_interval).count();
  base::log(
      LogLevel::kWarning, "{} children crashed within {} (emergency_restart_threshold); {}",
      global_.emergency_restart_threshold, base::in_words(global_.emergency_restart_interval),
      is_again ? "all children were already replaced within this time" : "replacing all children");
  if (is_again) return;
  note = std::to_string(now);
  // As in PHP-FPM, reload the master, which also replaces the children. If the reload cannot begin,
  // replace the children directly.
  if (!reloading_->ask(true)) replace_children();
}

void Loop::reopen_logs() {
  const auto complain = [](const Result<void>& done) {
    if (!done) base::log(LogLevel::kError, "{}", done.error().message);
  };
  complain(base::reopen_log());
  for (const auto& one : services_) {
    if (one->service().access_log) complain(one->service().access_log->reopen());
  }
  base::log(LogLevel::kNotice, "the logs were reopened");
  for (const auto& one : services_) {
    one->children.reopen_logs();
    // Children of the previous generation still log until their requests are finished.
    previous_generation_.send_logs(one->service());
  }
  previous_generation_.signal(SIGUSR1);
}

LivingChildren Loop::living() const {
  LivingChildren living{};
  for (const auto& one : services_) {
    living[static_cast<std::size_t>(phase_of(one->service().kind))] += one->children.count();
  }
  // Count all children of the previous generation as children of pools, although some of them
  // belong to fronts.
  living[static_cast<std::size_t>(StopPhase::kPools)] += previous_generation_.count();
  return living;
}

void Loop::stop(bool is_graceful) {
  const bool is_first = master_state_.is_running;
  if (!(is_graceful ? stopping_.gracefully() : stopping_.at_once())) return;
  if (is_first) base::notify_service_manager("STOPPING=1\nSTATUS=stopping");
  base::log(LogLevel::kNotice, "stopping{}",
            is_graceful ? " after in-flight requests" : (is_first ? "" : " immediately"));
  reloading_->abandon();
  master_state_.is_running = false;
  go_on_stopping();
}

void Loop::stop_timed_out() {
  if (stopping_.time_is_up() == StopWay::kTerminate) {
    base::log(LogLevel::kNotice, "stopping immediately");
  }
  go_on_stopping();
}

void Loop::go_on_stopping() {
  if (master_state_.is_running) return;
  while (const auto order = stopping_.next(living())) carry_out(*order);
  if (sum_of(living()) == 0) ::event_base_loopbreak(base_.get());
}

void Loop::carry_out(const StopOrder& order) {
  if (order.deadline) deadline_.wait(*order.deadline);
  if (order.way == StopWay::kKill) {
    base::log(LogLevel::kWarning, "{} children did not stop and are killed",
              sum_of(living(), order.first, order.last));
  }
  const auto is_meant = [&order](StopPhase phase) {
    return phase >= order.first && phase <= order.last;
  };
  const int by_force = order.way == StopWay::kKill ? SIGKILL : SIGTERM;
  for (const auto& one : services_) {
    if (!is_meant(phase_of(one->service().kind))) continue;
    one->children.signal(order.way == StopWay::kQuit ? one->service().quit_signal() : by_force);
  }
  // A graceful stop does not need a signal here: the previous generation was already asked to exit
  // when this generation began.
  if (is_meant(StopPhase::kPools) && order.way != StopWay::kQuit)
    previous_generation_.signal(by_force);
}

/// Asks each child to end after its current requests. The usual restart then replaces the child.
void Loop::replace_children() {
  for (const auto& one : services_) one->children.signal(one->service().quit_signal());
}

CheckedProgram Loop::program_to_check() const {
  CheckedProgram program{
      .path = reload_.program, .arguments = reload_.arguments, .inheritable = {}};
  for (const auto& one : services_) {
    program.inheritable += one->service().listener.asked_for() + "\n";
    for (const Listener& each : one->service().more_listeners) {
      program.inheritable += each.asked_for() + "\n";
    }
  }
  program.inheritable += control_.listener.asked_for() + "\n";
  return program;
}

void Loop::execute_again() {
  Handover handover;
  handover.generation = master_state_.generation + 1;
  handover.notes = reload_.notes;
  hand_over(control_.listener, handover);
  for (const auto& one : services_) {
    hand_over(one->service().listener, handover);
    for (const Listener& each : one->service().more_listeners) hand_over(each, handover);
  }
  for (const auto& one : services_) {
    std::map<std::string, std::uint64_t> counters;
    if (one->jobs != nullptr) counters = one->jobs->counters();
    if (one->service().figures) {
      const auto figures = one->service().figures();
      counters.insert(figures.numbers.begin(), figures.numbers.end());
    }
    if (!counters.empty()) handover.counters[one->service().name] = std::move(counters);
    hand_over(one->children, master_state_.generation, handover);
  }
  previous_generation_.hand_over(handover);
  const Error failure = master::execute_again(reload_.program, reload_.arguments, handover);
  take_back(handover);
  base::notify_service_manager("READY=1\nSTATUS=" + status_line_.next(services_, master_state_));
  base::log(LogLevel::kError, "not reloaded: {}", failure.message);
}

}  // namespace quarry::master
