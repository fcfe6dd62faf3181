#include <fmt/core.h>

#include "quarry/base/log.h"
#include "quarry/scoreboard/exposition.h"
#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

/// Returns the help text TEXT with backslashes and newlines escaped.
std::string in_help(std::string_view text) {
  std::string out = base::printable(text);
  for (auto at = out.find('\\'); at != std::string::npos; at = out.find('\\', at + 2)) {
    out.insert(at, 1, '\\');
  }
  return out;
}

/// Writes PHP-FPM's metrics with PHP-FPM's names, although names of counters should end in _total.
void write_php_metrics(const PoolSnapshot& s, Exposition& page) {
  const auto metric = [&page](std::string_view name, std::string_view type, std::string_view help,
                              std::uint64_t value) {
    page.family(name, type, help);
    page.sample({}, value);
  };
  const base::QueueLength queue = s.queue.value_or(base::QueueLength{});
  metric("phpfpm_up", Exposition::kGauge,
         fmt::format("Whether the pool {}, with process manager {}, answered.", in_help(s.pool),
                     in_help(s.state.limits.process_manager.view())),
         1);
  metric("phpfpm_start_since", Exposition::kCounter, "Seconds since the pool was started.",
         static_cast<std::uint64_t>(
             std::max<std::int64_t>(0, s.wall_now / 1000000 - s.state.started / 1000000)));
  metric("phpfpm_accepted_connections", Exposition::kCounter, "Requests accepted.",
         s.totals.accepted);
  metric("phpfpm_listen_queue", Exposition::kGauge, "Connections waiting for a worker.",
         queue.waiting);
  metric("phpfpm_max_listen_queue", Exposition::kCounter, "Peak number of waiting connections.",
         s.state.max_listen_queue);
  metric("phpfpm_listen_queue_length", Exposition::kGauge, "Limit on waiting connections.",
         queue.limit);
  metric("phpfpm_idle_processes", Exposition::kGauge, "Idle workers.", s.idle);
  metric("phpfpm_active_processes", Exposition::kGauge, "Active workers.", s.active);
  metric("phpfpm_total_processes", Exposition::kGauge, "Workers, idle and active.",
         s.idle + s.active);
  metric("phpfpm_max_active_processes", Exposition::kCounter, "Peak number of active workers.",
         s.state.max_active);
  metric("phpfpm_max_children_reached", Exposition::kCounter,
         "Number of times that pm.max_children prevented a worker from starting.",
         s.state.max_children_reached);
  metric("phpfpm_slow_requests", Exposition::kCounter,
         "Requests that took longer than request_slowlog_timeout.", s.state.slow_requests);
}

}  // namespace

std::string openmetrics_page(const PoolSnapshot& snapshot, bool /*is_full*/) {
  Exposition page(Exposition::Form::kText);
  write_php_metrics(snapshot, page);
  return page.take();
}

}  // namespace quarry::scoreboard
