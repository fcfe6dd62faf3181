// How the master stops: gracefully (fronts, then pools, each after SIGQUIT), at once (SIGTERM), and
// in the end by force (SIGKILL). A later phase is never left for an earlier one.
#include <charconv>
#include <csignal>
#include <string>

#include "loop.h"
#include "quarry/base/duration.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// How long a child may take to end after SIGTERM: a transaction that is being committed is let
// finish, so that no write-ahead log is left beside the repository.
constexpr milliseconds kTerminateGrace{5000};

// What tells the next master when all children were replaced last: monotonic_micros().
constexpr const char* kEmergencyNote = "emergency";

bool is_any(ServiceKind) {
  return true;
}
bool is_front(ServiceKind kind) {
  return kind == ServiceKind::kFront;
}
bool is_pool(ServiceKind kind) {
  return kind == ServiceKind::kPool;
}

}  // namespace

void Master::Loop::signal_children(int number, bool (*wanted)(ServiceKind)) {
  for (const auto& group : groups_) {
    if (!wanted(group->service.kind)) continue;
    for (const auto& child : group->children) ::kill(child->pid, number);
  }
  // Those that are left of earlier generations are finishing already, fronts and pools alike.
  if (!wanted(ServiceKind::kPool)) return;
  for (const Elder& elder : reload_.elders) ::kill(elder.pid, number);
}

std::size_t Master::Loop::living(bool (*wanted)(ServiceKind)) const {
  std::size_t count = 0;
  for (const auto& group : groups_) {
    if (wanted(group->service.kind)) count += group->children.size();
  }
  if (wanted(ServiceKind::kPool)) count += reload_.elders.size();
  return count;
}

void Master::Loop::stop_gracefully() {
  // Asked a second time, the person is in a hurry.
  enter(phase_ == Phase::kRunning ? Phase::kEndingFronts : Phase::kTerminating);
}

void Master::Loop::enter(Phase phase) {
  if (phase <= phase_) return;
  const bool is_first = phase_ == Phase::kRunning;
  if (is_first) base::notify_service_manager("STOPPING=1\nSTATUS=stopping");
  if (check_) ::kill(check_->pid, SIGKILL);
  phase_ = phase;
  switch (phase) {
    case Phase::kRunning:
      return;
    case Phase::kEndingFronts:
      base::log(LogLevel::kNotice, "stopping after the requests in flight");
      schedule(deadline_, global_.process_control_timeout);
      signal_children(SIGQUIT, is_front);
      break;
    case Phase::kEndingPools:
      signal_children(SIGQUIT, is_pool);
      break;
    case Phase::kTerminating:
      base::log(LogLevel::kNotice, "stopping{}", is_first ? "" : " at once");
      schedule(deadline_, kTerminateGrace);
      signal_children(SIGTERM, is_any);
      break;
    case Phase::kKilling:
      base::log(LogLevel::kWarning, "{} children did not stop and are killed", living(is_any));
      signal_children(SIGKILL, is_any);
      break;
  }
  go_on_stopping();
}

void Master::Loop::escalate() {
  enter(phase_ < Phase::kTerminating ? Phase::kTerminating : Phase::kKilling);
}

void Master::Loop::go_on_stopping() {
  if (phase_ == Phase::kRunning) return;
  if (living(is_any) == 0) {
    ::event_base_loopbreak(base_.get());
  } else if (phase_ == Phase::kEndingFronts && living(is_front) == 0) {
    enter(Phase::kEndingPools);
  }
}

// Each child ends after the requests that it has, and bury() starts another in its place; the
// listening sockets stay, so that no connection is refused. Where that did not help, it is not done
// again and again: the wait before a start, which grows, is what then protects the machine.
void Master::Loop::on_emergency() {
  const std::int64_t now = scoreboard::monotonic_micros();
  std::string& note = reload_.notes[kEmergencyNote];
  std::int64_t last = 0;
  const bool is_again =
      std::from_chars(note.data(), note.data() + note.size(), last).ec == std::errc() &&
      now - last < std::chrono::microseconds(global_.emergency_restart_interval).count();
  base::log(LogLevel::kWarning, "{} children crashed within {} (emergency_restart_threshold): {}",
            global_.emergency_restart_threshold, base::in_words(global_.emergency_restart_interval),
            is_again ? "all were replaced in this time already" : "all are replaced");
  if (is_again) return;
  note = std::to_string(now);
  // As PHP-FPM: by a reload, where that is possible.
  reload_.program.empty() ? signal_children(SIGQUIT, is_any) : ask_for_reload(true);
}

}  // namespace quarry::master
