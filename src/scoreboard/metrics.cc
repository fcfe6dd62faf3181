#include "quarry/scoreboard/metrics.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "status_fields.h"

namespace quarry::scoreboard {
namespace {

using Pools = std::span<const PoolOverview>;

class PoolWriter {
 public:
  PoolWriter(Pools pools, Exposition& out) : pools_(pools), out_(out) {}

  template <typename Get>
  void number(std::string_view name, std::string_view help, Get get) {
    begin(name, help);
    for (const PoolOverview& pool : pools_) {
      out_.sample({{"pool", pool.pool.view()}}, std::invoke(get, pool));
    }
  }
  template <typename Get>
  void time(std::string_view name, std::string_view help, Get get) {
    begin(name, help);
    for (const PoolOverview& pool : pools_) {
      const std::int64_t micros = std::invoke(get, pool);
      if (micros > 0) {
        out_.seconds({{"pool", pool.pool.view()}}, static_cast<std::uint64_t>(micros));
      }
    }
  }
  void histogram(std::string_view name, std::string_view help,
                 Histogram (*get)(const Counters& counters), bool is_of_time) {
    out_.family(name, "histogram", help);
    for (const PoolOverview& pool : pools_) {
      const std::string_view label = pool.pool.view();
      const Histogram histogram = get(pool.totals);
      histogram.each_bucket([&](std::string bound, std::uint64_t count) {
        // OpenMetrics requires each bound to be a float.
        if (bound.find_first_of(".I") == std::string::npos) bound += ".0";
        out_.sample({{"pool", label}, {"le", bound}}, count, "_bucket");
      });
      if (is_of_time) {
        out_.seconds({{"pool", label}}, histogram.sum, "_sum");
      } else {
        out_.sample({{"pool", label}}, histogram.sum, "_sum");
      }
      out_.sample({{"pool", label}}, histogram.count(), "_count");
    }
  }
  void begin(std::string_view name, std::string_view help) {
    out_.family(name, name.ends_with("_total") ? Exposition::kCounter : Exposition::kGauge, help);
  }

 private:
  Pools pools_;
  Exposition& out_;
};

void write_processes(Pools pools, Exposition& out) {
  PoolWriter writer(pools, out);
  writer.time("quarry_pool_start_time_seconds", "Start time of the pool, in seconds since 1970.",
              [](const auto& pool) { return pool.state.started; });
  writer.number("quarry_generation", "Number of times that the configuration was loaded.",
                [](const auto& pool) { return pool.state.generation; });
  writer.number("quarry_workers_limit", "Maximum number of workers (pm.max_children).",
                [](const auto& pool) { return pool.state.limits.max_children; });
  writer.begin("quarry_workers", "Workers in each stage of a request.");
  for (const PoolOverview& pool : pools) {
    for (std::size_t i = 0; i < kStages; ++i) {
      out.sample({{"pool", pool.pool.view()}, {"stage", name_of(static_cast<Stage>(i))}},
                 pool.in_stage[i]);
    }
  }
  writer.number("quarry_workers_limit_reached_total",
                "Number of times that pm.max_children prevented a worker from starting.",
                [](const auto& pool) { return pool.state.max_children_reached; });
  writer.number("quarry_worker_restarts_delayed_total",
                "Worker restarts that were delayed because of a crash loop.",
                [](const auto& pool) { return pool.state.restarts_backed_off; });
  writer.number("quarry_listen_queue_connections", "Connections that wait for a worker.",
                [](const auto& pool) { return pool.length.waiting; });
  writer.number("quarry_listen_queue_limit_connections",
                "Maximum number of connections that wait for a worker.",
                [](const auto& pool) { return pool.length.limit; });
}

void write_requests(Pools pools, Exposition& out) {
  PoolWriter writer(pools, out);
  writer.number("quarry_requests_total",
                "Requests started, including page requests that another process answers.",
                [](const auto& pool) { return pool.totals.accepted; });
  writer.number("quarry_refused_requests_total", "Requests that a worker answered with an error.",
                [](const auto& pool) { return pool.totals.refusals; });
  writer.number("quarry_slow_requests_total",
                "Requests that took longer than request_slowlog_timeout.",
                [](const auto& pool) { return pool.state.slow_requests; });
  writer.histogram("quarry_request_duration_seconds",
                   "Time from the connection to the end of the reply.", durations_of, true);
  writer.histogram("quarry_sync_duration_seconds",
                   "Time from the connection to the end of the reply, for sync requests only.",
                   sync_durations_of, true);
  writer.histogram("quarry_reply_size_bytes", "Size of reply bodies.", reply_sizes_of, false);
  writer.begin("quarry_sync_requests_total", "Sync requests by operation.");
  for (const PoolOverview& pool : pools) {
    const auto add = [&](std::string_view operation, std::uint64_t count) {
      out.sample({{"pool", pool.pool.view()}, {"operation", operation}}, count);
    };
    add("clone", pool.totals.clones);
    add("pull", pool.totals.pulls);
    add("push", pool.totals.pushes);
    add("sync", pool.totals.syncs);
  }
  writer.number("quarry_artifacts_received_total", "Artifacts stored by syncs.",
                [](const auto& pool) { return pool.totals.artifacts_in; });
  writer.number("quarry_artifacts_sent_total", "Artifacts sent by syncs.",
                [](const auto& pool) { return pool.totals.artifacts_out; });
  writer.number("quarry_received_bytes_total", "Bytes of sync request bodies on the wire.",
                [](const auto& pool) { return pool.totals.bytes_in; });
  writer.number("quarry_sent_bytes_total", "Bytes of sync reply bodies on the wire.",
                [](const auto& pool) { return pool.totals.bytes_out; });
}

void write_busiest(Pools pools, Exposition& out) {
  PoolWriter writer(pools, out);
  const auto each = [&](auto write) {
    for (const PoolOverview& pool : pools) {
      for (const RepositoryCount& one : pool.busiest) {
        if (one.requests > 0) {
          write({{"pool", pool.pool.view()}, {"repository", one.name.view()}}, one);
        }
      }
    }
  };
  writer.begin("quarry_repository_requests_total",
               "Requests of the pool's busiest repositories, without pages.");
  each([&](Exposition::Labels labels, const auto& one) { out.sample(labels, one.requests); });
  writer.begin("quarry_repository_request_seconds_total",
               "Time that workers spent on the pool's busiest repositories, without pages.");
  each([&](Exposition::Labels labels, const auto& one) { out.seconds(labels, one.duration); });
}

}  // namespace

void write_pool_metrics(Pools pools, Exposition& out) {
  write_processes(pools, out);
  write_requests(pools, out);
  write_busiest(pools, out);
  PoolWriter(pools, out)
      .time("quarry_backoffice_last_end_timestamp_seconds",
            "End of the last backoffice run, in seconds since 1970.",
            [](const auto& pool) { return pool.state.backoffice_ended; });
}

void write_job_metrics(std::span<const JobOverview> jobs, Exposition& out) {
  const auto write = [&](std::string_view name, std::string_view help,
                         std::uint64_t JobFigures::*figure) {
    out.family(name, name.ends_with("_total") ? Exposition::kCounter : Exposition::kGauge, help);
    for (const JobOverview& each : jobs) {
      const std::string_view service = each.service.view();
      const std::size_t space = std::min(service.find(' '), service.size());
      out.sample({{"pool", service.substr(std::min(space + 1, service.size()))},
                  {"job_kind", service.substr(0, space)}},
                 each.figures.*figure);
    }
  };
  write("quarry_jobs_started_total", "Runs of background jobs.", &JobFigures::started);
  write("quarry_jobs_failed_total", "Failed runs of background jobs.", &JobFigures::failed);
  write("quarry_jobs_delayed_total", "Runs of background jobs that waited for other jobs.",
        &JobFigures::delayed);
  write("quarry_jobs_dropped_total",
        "Requests for background jobs dropped because the queue was full.", &JobFigures::dropped);
  write("quarry_jobs_running", "Background jobs that are running.", &JobFigures::running);
  write("quarry_jobs_waiting", "Background jobs that wait for other jobs.", &JobFigures::waiting);
}

}  // namespace quarry::scoreboard
