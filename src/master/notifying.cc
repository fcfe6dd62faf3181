// What the service manager hears (sd_notify(3)): that the server is ready, how it is, again and
// again, and that it is alive. The status begins as PHP-FPM's does, for whoever reads that.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "loop.h"
#include "quarry/base/service_manager.h"
#include "quarry/scoreboard/snapshot.h"

namespace quarry::master {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostNames = 5;

}  // namespace

void Master::Loop::tell_service_manager() {
  base::notify_service_manager(
      fmt::format("READY=1\nMAINPID={}\nSTATUS={}", ::getpid(), status_line()));
  if (base::has_service_manager() && global_.systemd_interval.count() > 0) {
    events_.push_back(make_lasting_event(-1, EV_PERSIST, [this] {
      if (phase_ == Phase::kRunning) base::notify_service_manager("STATUS=" + status_line());
    }));
    schedule(events_.back(), global_.systemd_interval);
  }
  const auto interval = base::watchdog_interval();
  if (!interval) return;
  events_.push_back(
      make_lasting_event(-1, EV_PERSIST, [] { base::notify_service_manager("WATCHDOG=1"); }));
  schedule(events_.back(), duration_cast<milliseconds>(*interval / 3));
}

/// Of all pools together, with the requests a second since the last such line.
std::string Master::Loop::status_line() {
  std::uint64_t active = 0;
  std::uint64_t idle = 0;
  std::uint64_t requests = 0;
  std::uint64_t slow = 0;
  std::size_t pools = 0;
  for (const auto& group : groups_) {
    if (group->service.pool.empty()) continue;
    const auto snapshot = scoreboard::take_snapshot(group->board, base::ListenQueue());
    active += snapshot.active;
    idle += snapshot.idle;
    requests += snapshot.totals.requests;
    slow += group->watch.state().slow_requests;
    ++pools;
  }
  const auto now = steady_clock::now();
  double rate = 0;
  // A child that is gone may have counted what nobody believes.
  if (told_at_ && requests > told_requests_) {
    rate = static_cast<double>(requests - told_requests_) /
           std::chrono::duration<double>(now - *told_at_).count();
  }
  told_at_ = now;
  told_requests_ = requests;
  return fmt::format(
      "Processes active: {}, idle: {}, Requests: {}, slow: {}, Traffic: {:.1f}req/sec; "
      "generation {}, {} pools{}",
      active, idle, requests, slow, rate, reload_.generation, pools, short_pools());
}

/// Those that would have more workers, if they could.
std::string Master::Loop::short_pools() const {
  std::string names;
  std::size_t count = 0;
  for (const auto& group : groups_) {
    const bool is_short = group->watch.state().held_back > 0 || is_backing_off(*group) ||
                          group->advice == Advice::kMaxChildrenReached;
    if (group->service.pool.empty() || !is_short || ++count > kMostNames) continue;
    names += (count == 1 ? "; short of workers: " : ", ") + group->service.pool;
  }
  return count > kMostNames ? fmt::format("{} and {} more", names, count - kMostNames) : names;
}

}  // namespace quarry::master
