#include "request_bounds.h"

#include <fmt/core.h>
#include <csignal>

#include <algorithm>
#include <utility>

#include "quarry/base/duration.h"
#include "quarry/base/log.h"
#include "slow_log.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using scoreboard::SlotState;
using scoreboard::Stage;
using std::chrono::milliseconds;

// As in PHP-FPM: three checks within the shortest timeout, but at most eight per second.
constexpr milliseconds kFastest{130};
constexpr milliseconds kSlowest{1000};

/// Returns the microseconds from BEGAN to NOW, or 0 if BEGAN is not plausible. BEGAN is not
/// trusted, because a child has written it.
std::int64_t micros_between(std::int64_t began, std::int64_t now) {
  return began <= 0 || began > now ? 0 : now - began;
}

bool is_over(std::int64_t micros, milliseconds bound) {
  return bound.count() > 0 && micros >= std::chrono::microseconds(bound).count();
}

std::string described(const SlotState& state) {
  return fmt::format("{} \"{}\"", base::printable(state.method.view()),
                     base::printable(state.uri.view()));
}

void log_if_slow(Children& children, const CheckedChild& child, const SlotState& state,
                 std::int64_t now) {
  const Service& service = children.service();
  const std::int64_t micros = micros_between(state.request_started, now);
  // Count only the stages in which the worker itself works, not those in which it waits for its
  // client.
  const bool is_working = state.stage == Stage::kInfo || state.stage == Stage::kExecuting;
  if (!is_working || !is_over(micros, service.slow_log.timeout)) return;
  if (std::exchange(child.logged, state.request_started) == state.request_started) return;
  children.watch().slow_request();
  const double time = static_cast<double>(micros) / 1000000;
  base::log(LogLevel::kWarning,
            "[{}] child {}, request {}: executing too slow ({:.3f} sec), logging", service.name,
            child.pid, described(state), time);
  write_slow_log(service.slow_log.path, {.service = service.name,
                                         .pid = child.pid,
                                         .seconds = time,
                                         .micros_since_sql = micros_between(state.sql_seen, now),
                                         .state = state});
}

void kill_if_overdue(const Service& service, pid_t pid, const SlotState& state, std::int64_t now) {
  const std::int64_t micros = micros_between(state.request_started, now);
  // Count the time to send a finished reply only if terminate_track_finished is set. This time
  // depends on the client and has a separate timeout.
  const Stage beyond = service.terminate_track_finished ? Stage::kFinished : Stage::kEnd;
  const bool is_working = state.stage >= Stage::kAccepted && state.stage < beyond;
  if (!is_working || !is_over(micros, service.request_terminate_timeout)) return;
  base::log(LogLevel::kWarning, "[{}] child {} is killed: {} took longer than {}", service.name,
            pid, described(state), base::in_words(service.request_terminate_timeout));
  ::kill(pid, SIGKILL);
}

void check(Children& children, const CheckedChild& child, std::int64_t now) {
  const scoreboard::Board::Reading reading = children.board().read(child.slot);
  if (!reading.is_torn) log_if_slow(children, child, reading.state, now);
  kill_if_overdue(children.service(), child.pid, reading.state, now);
}

}  // namespace

milliseconds request_heartbeat(milliseconds smallest) {
  return smallest.count() == 0 ? smallest : std::clamp(smallest / 3, kFastest, kSlowest);
}

milliseconds smallest_request_bound(const Service& service) {
  const milliseconds terminate = service.request_terminate_timeout;
  const milliseconds slow = service.slow_log.timeout;
  if (terminate.count() == 0 || slow.count() == 0) return std::max(terminate, slow);
  return std::min(terminate, slow);
}

void check_request_bounds(Children& children) {
  const std::int64_t now = scoreboard::monotonic_micros();
  for (const auto& child : children.living()) {
    if (child->slot) check(children, {child->pid, *child->slot, child->slow_request}, now);
  }
}

void check_request_bounds(Children& children, const CheckedChild& child) {
  check(children, child, scoreboard::monotonic_micros());
}

}  // namespace quarry::master
