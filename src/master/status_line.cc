#include "status_line.h"

#include <fmt/core.h>

#include "quarry/scoreboard/snapshot.h"

namespace quarry::master {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxNames = 5;

bool is_pool(const RunningService& one) {
  return one.service().kind == ServiceKind::kPool;
}

/// Returns the names of the pools that need more workers than they can start.
std::string short_pools(const RunningServices& services) {
  std::string names;
  std::size_t count = 0;
  for (const auto& one : services) {
    if (!is_pool(*one) || !one->starter->is_short() || ++count > kMaxNames) continue;
    names += (count == 1 ? "; short of workers: " : ", ") + one->service().pool;
  }
  return count > kMaxNames ? fmt::format("{} and {} more", names, count - kMaxNames) : names;
}

}  // namespace

std::string StatusLine::next(const RunningServices& services, const MasterState& master_state) {
  std::uint64_t active = 0;
  std::uint64_t idle = 0;
  std::uint64_t requests = 0;
  std::uint64_t slow = 0;
  std::size_t pools = 0;
  for (const auto& one : services) {
    if (!is_pool(*one)) continue;
    const auto snapshot = scoreboard::take_snapshot(one->children.board(), base::ListenQueue());
    active += snapshot.active;
    idle += snapshot.idle;
    requests += snapshot.totals.requests;
    slow += one->children.watch().state().slow_requests;
    ++pools;
  }
  const auto now = steady_clock::now();
  double rate = 0;
  // Report a rate of 0 if the total has decreased. The total decreases when a child with
  // implausible counters exits.
  if (last_at_ && requests > last_requests_) {
    rate = static_cast<double>(requests - last_requests_) /
           std::chrono::duration<double>(now - *last_at_).count();
  }
  last_at_ = now;
  last_requests_ = requests;
  return fmt::format(
      "Processes active: {}, idle: {}, Requests: {}, slow: {}, Traffic: {:.1f}req/sec; "
      "generation {}, {} pools{}",
      active, idle, requests, slow, rate, master_state.generation, pools, short_pools(services));
}

}  // namespace quarry::master
