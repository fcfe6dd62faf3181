#include "quarry/scoreboard/state.h"

#include <algorithm>
#include <ctime>

#include "quarry/base/url.h"

namespace quarry::scoreboard {
namespace {

constexpr std::uint32_t kMaxPid = 4U << 20;  // PID_MAX_LIMIT of Linux
constexpr std::uint64_t kMaxPlausible = std::uint64_t{1} << 53;
constexpr std::uint64_t kMaxChildrenOfPool = 65536;
// Tolerance for a wall clock that was set back.
constexpr std::int64_t kClockSlack = std::int64_t{86400} * 1'000'000;

std::int64_t micros(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

bool is_past(std::int64_t time, std::int64_t now) {
  return time >= 0 && time <= now;
}

}  // namespace

std::int64_t monotonic_micros() {
  return micros(CLOCK_MONOTONIC);
}

std::int64_t wall_micros() {
  return micros(CLOCK_REALTIME);
}

std::string_view name_of(Stage stage) {
  constexpr std::array<std::string_view, kStages> kNames = {
      "none", "accepting", "accepted", "reading headers", "info", "executing", "end", "finished"};
  return kNames[std::min(static_cast<std::size_t>(stage), kStages - 1)];
}

bool SlotState::is_sound() const {
  const std::int64_t now = monotonic_micros();
  return stage <= Stage::kFinished && pid <= kMaxPid &&
         is_past(child_started, wall_micros() + kClockSlack) && is_past(stage_since, now) &&
         is_past(session_began, now) && is_past(request_started, now) &&
         is_past(request_duration, now) && request_cpu <= kMaxPlausible &&
         peak_memory <= kMaxPlausible && reply_size <= kMaxPlausible && requests <= kMaxPlausible &&
         counters.is_plausible();
}

std::string_view name_of(Refuser refuser) {
  constexpr std::array<std::string_view, 3> kNames = {"worker", "front", "pages"};
  return kNames[std::min<std::size_t>(static_cast<std::size_t>(refuser), kNames.size() - 1)];
}

void Refusal::of_request(std::string_view asked_method, std::string_view target) {
  method.assign(asked_method);
  uri.assign(base::without_secrets(target));
}

bool Refusal::is_sound() const {
  return is_past(at, wall_micros() + kClockSlack) && status <= 999 && by <= Refuser::kPages &&
         times <= kMaxPlausible;
}

bool PoolState::is_sound() const {
  const auto pm = limits.process_manager.view();
  const auto are_few = [](std::initializer_list<std::uint64_t> counts) {
    return std::ranges::all_of(counts, [](std::uint64_t n) { return n <= kMaxChildrenOfPool; });
  };
  const auto are_plausible = [](std::initializer_list<std::uint64_t> counts) {
    return std::ranges::all_of(counts, [](std::uint64_t n) { return n <= kMaxPlausible; });
  };
  return started > 0 && started <= wall_micros() + kClockSlack && next_start >= 0 && !pm.empty() &&
         are_few({children, previous_children, held_back, max_active, limits.max_children,
                  limits.start_servers, limits.min_spare_servers, limits.max_spare_servers}) &&
         are_plausible({generation, max_children_reached, process_max_reached, slow_requests,
                        max_listen_queue, backoffice_runs, backoffice_delayed, backoffice_failures,
                        restarts_backed_off}) &&
         backoffice_ended >= 0 && backoffice_took >= 0 && past.is_plausible_sum();
}

}  // namespace quarry::scoreboard
