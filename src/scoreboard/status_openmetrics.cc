#include <fmt/core.h>

#include "quarry/base/log.h"
#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

constexpr std::string_view kCounter = "counter";
constexpr std::string_view kGauge = "gauge";

class Exposition {
 public:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void sample(std::string_view name, std::uint64_t value) {
    out_ += fmt::format("{} {}\n", name, value);
  }
  void sample(std::string_view name, std::string_view label, std::string_view text,
              std::uint64_t value) {
    out_ += fmt::format("{}{{{}=\"{}\"}} {}\n", name, label, text, value);
  }
  void metric(std::string_view name, std::string_view type, std::string_view help,
              std::uint64_t value) {
    head(name, type, help);
    sample(name, value);
  }
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram) {
    head(name, "histogram", help);
    histogram.each_bucket([&](std::string bound, std::uint64_t count) {
      // Write each bound as a float, as OpenMetrics requires.
      if (bound.find_first_of(".I") == std::string::npos) bound += ".0";
      sample(fmt::format("{}_bucket", name), "le", bound, count);
    });
    out_ += fmt::format("{}_sum {}\n", name, histogram.sum_text());
    sample(fmt::format("{}_count", name), histogram.count());
  }
  std::string take() { return std::move(out_) + "# EOF\n"; }

 private:
  std::string out_;
};

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
  const base::QueueLength queue = s.queue.value_or(base::QueueLength{});
  page.metric("phpfpm_up", kGauge,
              fmt::format("Whether the pool {}, with process manager {}, answered.",
                          in_help(s.pool), in_help(s.state.limits.process_manager.view())),
              1);
  page.metric("phpfpm_start_since", kCounter, "Seconds since the pool was started.",
              static_cast<std::uint64_t>(
                  std::max<std::int64_t>(0, s.wall_now / 1000000 - s.state.started / 1000000)));
  page.metric("phpfpm_accepted_connections", kCounter, "Requests accepted.", s.totals.accepted);
  page.metric("phpfpm_listen_queue", kGauge, "Connections waiting for a worker.", queue.waiting);
  page.metric("phpfpm_max_listen_queue", kCounter, "Peak number of waiting connections.",
              s.state.max_listen_queue);
  page.metric("phpfpm_listen_queue_length", kGauge, "Limit on waiting connections.", queue.limit);
  page.metric("phpfpm_idle_processes", kGauge, "Idle workers.", s.idle);
  page.metric("phpfpm_active_processes", kGauge, "Active workers.", s.active);
  page.metric("phpfpm_total_processes", kGauge, "Workers, idle and active.", s.idle + s.active);
  page.metric("phpfpm_max_active_processes", kCounter, "Peak number of active workers.",
              s.state.max_active);
  page.metric("phpfpm_max_children_reached", kCounter,
              "Number of times that pm.max_children prevented a worker from starting.",
              s.state.max_children_reached);
  page.metric("phpfpm_slow_requests", kCounter,
              "Requests that took longer than request_slowlog_timeout.", s.state.slow_requests);
}

void write_pool_metrics(const PoolSnapshot& s, Exposition& page) {
  const PoolState& state = s.state;
  page.metric("quarry_max_children", kGauge, "pm.max_children.", state.limits.max_children);
  page.metric("quarry_start_servers", kGauge, "pm.start_servers.", state.limits.start_servers);
  page.metric("quarry_min_spare_servers", kGauge, "pm.min_spare_servers.",
              state.limits.min_spare_servers);
  page.metric("quarry_max_spare_servers", kGauge, "pm.max_spare_servers.",
              state.limits.max_spare_servers);
  page.metric("quarry_children", kGauge, "Children of the current generation.", state.children);
  page.metric("quarry_generation", kGauge, "Generation of the configuration.", state.generation);
  page.metric("quarry_previous_generation_children", kGauge,
              "Children of earlier generations that are finishing.", state.previous_children);
  page.metric("quarry_children_held_back", kGauge, "Workers that process.max is holding back.",
              state.held_back);
  page.metric("quarry_process_max_reached_total", kCounter,
              "Number of times that process.max began to hold back workers.",
              state.process_max_reached);
  page.head("quarry_processes", kGauge, "Workers in each stage of a request.");
  for (std::size_t i = 0; i < kStages; ++i) {
    page.sample("quarry_processes", "stage", name_of(static_cast<Stage>(i)), s.in_stage[i]);
  }
  page.metric("quarry_unreadable_slots", kGauge, "Scoreboard slots with invalid contents.",
              s.unreadable);
  page.metric("quarry_restarts_backed_off_total", kCounter,
              "Restarts delayed because of a crash loop.", state.restarts_backed_off);
  page.metric("quarry_next_start_timestamp_seconds", kGauge,
              "Time of the next delayed restart, or 0.",
              static_cast<std::uint64_t>(state.next_start / 1000000));
  page.metric("quarry_backoffice_runs_total", kCounter, "Backoffice runs.", state.backoffice_runs);
  page.metric("quarry_backoffice_delayed_total", kCounter,
              "Backoffice runs that waited for other runs.", state.backoffice_delayed);
  page.metric("quarry_backoffice_failures_total", kCounter, "Failed backoffice runs.",
              state.backoffice_failures);
  page.metric("quarry_backoffice_ended_timestamp_seconds", kGauge,
              "Time when the last backoffice run finished, or 0.",
              static_cast<std::uint64_t>(state.backoffice_ended / 1000000));
}

void write_sync_metrics(const PoolSnapshot& s, Exposition& page) {
  const Counters& totals = s.totals;
  page.head("quarry_sync_sessions_total", kCounter, "Sync requests by operation.");
  page.sample("quarry_sync_sessions_total", "operation", "clone", totals.clones);
  page.sample("quarry_sync_sessions_total", "operation", "pull", totals.pulls);
  page.sample("quarry_sync_sessions_total", "operation", "push", totals.pushes);
  page.sample("quarry_sync_sessions_total", "operation", "sync", totals.syncs);
  page.metric("quarry_artifacts_received_total", kCounter, "Artifacts stored.",
              totals.artifacts_in);
  page.metric("quarry_artifacts_sent_total", kCounter, "Artifacts sent.", totals.artifacts_out);
  page.metric("quarry_received_bytes_total", kCounter, "Bytes of sync request bodies on the wire.",
              totals.bytes_in);
  page.metric("quarry_sent_bytes_total", kCounter, "Bytes of sync reply bodies on the wire.",
              totals.bytes_out);
  page.metric("quarry_refusals_total", kCounter, "Requests answered with an error.",
              totals.refusals);
  page.histogram("quarry_request_duration_seconds",
                 "Time from the connection to the end of the reply.", durations_of(totals));
  page.histogram("quarry_sync_duration_seconds",
                 "Time from the connection to the end of the reply, for sync requests only.",
                 sync_durations_of(totals));
  page.histogram("quarry_reply_size_bytes", "Size of reply bodies.", reply_sizes_of(totals));
}

}  // namespace

std::string openmetrics_page(const PoolSnapshot& snapshot, bool /*is_full*/) {
  Exposition page;
  write_php_metrics(snapshot, page);
  write_pool_metrics(snapshot, page);
  write_sync_metrics(snapshot, page);
  return page.take();
}

}  // namespace quarry::scoreboard
