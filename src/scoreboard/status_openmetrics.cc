#include <fmt/core.h>

#include <array>

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
      // OpenMetrics requires bounds to be floats.
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

/// Escapes backslashes and newlines in a help text.
std::string in_help(std::string_view text) {
  std::string out = base::printable(text);
  for (auto at = out.find('\\'); at != std::string::npos; at = out.find('\\', at + 2)) {
    out.insert(at, 1, '\\');
  }
  return out;
}

/// PHP-FPM's metrics under its own names, although counters should end in _total.
void write_php_metrics(const PoolSnapshot& s, Exposition& page) {
  const base::QueueLength queue = s.queue.value_or(base::QueueLength{});
  page.metric("phpfpm_up", kGauge,
              fmt::format("Whether the pool {}, with process manager {}, answered.",
                          in_help(s.pool), in_help(s.state.limits.process_manager.view())),
              1);
  page.metric("phpfpm_start_since", kCounter, "Seconds since the pool was started.",
              static_cast<std::uint64_t>(
                  std::max<std::int64_t>(0, s.wall_now / 1000000 - s.state.started / 1000000)));
  page.metric("phpfpm_accepted_connections", kCounter, "Requests that were begun.",
              s.totals.accepted);
  page.metric("phpfpm_listen_queue", kGauge, "Connections that wait for a worker.", queue.waiting);
  page.metric("phpfpm_max_listen_queue", kCounter, "Most connections that waited at a time.",
              s.state.max_listen_queue);
  page.metric("phpfpm_listen_queue_length", kGauge, "How many connections may wait.", queue.limit);
  page.metric("phpfpm_idle_processes", kGauge, "Workers that wait for a request.", s.idle);
  page.metric("phpfpm_active_processes", kGauge, "Workers that are not idle.", s.active);
  page.metric("phpfpm_total_processes", kGauge, "Workers, idle and active.", s.idle + s.active);
  page.metric("phpfpm_max_active_processes", kCounter, "Most workers active at a time.",
              s.state.max_active);
  page.metric("phpfpm_max_children_reached", kCounter,
              "How often pm.max_children kept more workers from being started.",
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
  page.metric("quarry_children", kGauge, "Children of this generation that the master has.",
              state.children);
  page.metric("quarry_generation", kGauge, "Of the configuration.", state.generation);
  page.metric("quarry_previous_generation_children", kGauge, "Children of earlier generations, which finish.",
              state.previous_children);
  page.metric("quarry_children_held_back", kGauge,
              "Workers that process.max keeps from being started now.", state.held_back);
  page.metric("quarry_process_max_reached_total", kCounter,
              "How often process.max began to keep workers from being started.",
              state.process_max_reached);
  page.head("quarry_processes", kGauge, "Workers in each stage of a request.");
  for (std::size_t i = 0; i < kStages; ++i) {
    page.sample("quarry_processes", "stage", name_of(static_cast<Stage>(i)), s.in_stage[i]);
  }
  page.metric("quarry_unreadable_slots", kGauge,
              "Scoreboard slots that no worker can have written.", s.unreadable);
  page.metric("quarry_restarts_backed_off_total", kCounter,
              "How often a crash loop was slowed down.", state.restarts_backed_off);
  page.metric("quarry_next_start_timestamp_seconds", kGauge,
              "When a crash loop goes on; 0: there is none.",
              static_cast<std::uint64_t>(state.next_start / 1000000));
  page.metric("quarry_backoffice_runs_total", kCounter, "Backoffice runs.", state.backoffice_runs);
  page.metric("quarry_backoffice_delayed_total", kCounter,
              "Backoffice runs that had to wait for others.", state.backoffice_delayed);
  page.metric("quarry_backoffice_failures_total", kCounter,
              "Backoffice runs that did not end well.", state.backoffice_failures);
  page.metric("quarry_backoffice_ended_timestamp_seconds", kGauge,
              "When the last backoffice run ended; 0: none has.",
              static_cast<std::uint64_t>(state.backoffice_ended / 1000000));
}

void write_sync_metrics(const PoolSnapshot& s, Exposition& page) {
  const Counters& totals = s.totals;
  page.head("quarry_sync_sessions_total", kCounter, "Sync requests by what they asked for.");
  page.sample("quarry_sync_sessions_total", "operation", "clone", totals.clones);
  page.sample("quarry_sync_sessions_total", "operation", "pull", totals.pulls);
  page.sample("quarry_sync_sessions_total", "operation", "push", totals.pushes);
  page.sample("quarry_sync_sessions_total", "operation", "sync", totals.syncs);
  page.metric("quarry_artifacts_received_total", kCounter, "Artifacts stored.",
              totals.artifacts_in);
  page.metric("quarry_artifacts_sent_total", kCounter, "Artifacts sent.", totals.artifacts_out);
  page.metric("quarry_received_bytes_total", kCounter, "Bodies of sync requests, as they travel.",
              totals.bytes_in);
  page.metric("quarry_sent_bytes_total", kCounter, "Bodies of sync replies, as they travel.",
              totals.bytes_out);
  page.metric("quarry_refusals_total", kCounter, "Requests answered with an error.",
              totals.refusals);
  page.histogram("quarry_request_duration_seconds", "From a connection to the end of the reply.",
                 durations_of(totals));
  page.histogram("quarry_sync_duration_seconds", "The same of sync requests alone.",
                 sync_durations_of(totals));
  page.histogram("quarry_reply_size_bytes", "Bodies of replies.", reply_sizes_of(totals));
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
