// How long a request may take: who is over request_slowlog_timeout is told of in the slow log, who
// is over request_terminate_timeout is ended.
#include <fmt/core.h>
#include <csignal>

#include <algorithm>

#include "loop.h"
#include "quarry/base/duration.h"
#include "quarry/base/log.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using scoreboard::SlotState;
using scoreboard::Stage;
using std::chrono::milliseconds;

// PHP-FPM's heartbeat: three looks within the smallest bound, but not more than eight a second.
constexpr milliseconds kFastest{130};
constexpr milliseconds kSlowest{1000};

/// How long before NOW a child says that something began, in microseconds; 0 where that cannot be.
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

}  // namespace

milliseconds Master::Loop::heartbeat() const {
  milliseconds smallest{0};
  for (const auto& group : groups_) {
    for (const milliseconds bound :
         {group->service.request_terminate_timeout, group->service.slow_log.timeout}) {
      if (bound.count() == 0) continue;
      smallest = smallest.count() == 0 ? bound : std::min(smallest, bound);
    }
  }
  if (smallest.count() == 0) return smallest;
  return std::clamp(smallest / 3, kFastest, kSlowest);
}

void Master::Loop::check_requests() {
  const std::int64_t now = scoreboard::monotonic_micros();
  for (const auto& group : groups_) {
    const Service& service = group->service;
    if (service.request_terminate_timeout.count() == 0 && service.slow_log.timeout.count() == 0) {
      continue;
    }
    for (const auto& child : group->children) {
      check_request(*group, child->pid, child->slot, child->slow_request, now);
    }
    for (Elder& elder : reload_.elders) {
      if (elder.service != service.name || !elder.slot) continue;
      check_request(*group, elder.pid, *elder.slot, elder.slow_request, now);
    }
  }
  slow_log_.flush();
}

void Master::Loop::check_request(Group& group, pid_t pid, std::size_t slot, std::int64_t& told,
                                 std::int64_t now) {
  const scoreboard::Board::Reading reading = group.board.read(slot);
  const std::int64_t micros = micros_between(reading.state.request_started, now);
  if (!reading.is_torn) tell_if_slow(group, pid, told, reading.state, now);
  end_if_overdue(group.service, pid, reading.state, micros);
}

void Master::Loop::tell_if_slow(Group& group, pid_t pid, std::int64_t& told, const SlotState& state,
                                std::int64_t now) {
  const Service& service = group.service;
  const std::int64_t micros = micros_between(state.request_started, now);
  // As long as the worker works: what a client makes it wait for says nothing about it.
  const bool is_working = state.stage == Stage::kInfo || state.stage == Stage::kExecuting;
  if (!is_working || !is_over(micros, service.slow_log.timeout)) return;
  if (std::exchange(told, state.request_started) == state.request_started) return;
  group.watch.slow_request();
  const double time = static_cast<double>(micros) / 1000000;
  base::log(LogLevel::kWarning,
            "[{}] child {}, request {}: executing too slow ({:.3f} sec), logging", service.name,
            pid, described(state), time);
  SlowRequest request;
  request.service = service.name;
  request.pid = pid;
  request.seconds = time;
  request.micros_since_sql = micros_between(state.sql_seen, now);
  request.state = state;
  request.log = service.slow_log;
  request.kept_descriptors = service.kept_descriptors;
  slow_log_.add(std::move(request));
}

void Master::Loop::end_if_overdue(const Service& service, pid_t pid, const SlotState& state,
                                  std::int64_t micros) {
  // The time in which a finished reply is taken is its client's, who has a bound of its own.
  const Stage beyond = service.terminate_track_finished ? Stage::kFinished : Stage::kEnd;
  const bool is_working = state.stage >= Stage::kAccepted && state.stage < beyond;
  if (!is_working || !is_over(micros, service.request_terminate_timeout)) return;
  base::log(LogLevel::kWarning, "[{}] child {} is killed: {} took longer than {}", service.name,
            pid, described(state), base::in_words(service.request_terminate_timeout));
  ::kill(pid, SIGKILL);
}

}  // namespace quarry::master
