#include "metrics_service.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "quarry/base/log.h"
#include "quarry/control/publication.h"
#include "quarry/control/reopened_logs.h"
#include "quarry/courier/shipping_figures.h"
#include "quarry/gateway/metrics_server.h"
#include "quarry/http/web_page.h"
#include "quarry/scoreboard/metrics.h"

namespace quarry::app {
namespace {

using scoreboard::Exposition;

// Time limit for the answer of quarry-replica, because scrapers wait for it.
constexpr std::chrono::milliseconds kReplicaTime{1000};

template <typename Figures>
struct PageMetric {
  std::string_view name;
  std::string_view help;
  pages::Counter Figures::*figure;
};

using pages::PageCounters;
using pages::PageGauges;
constexpr auto kGaugesOfPages = std::to_array<PageMetric<PageGauges>>({
    {"quarry_pages_running", "Pages that are being made.", &PageGauges::running},
    {"quarry_pages_waiting", "Page requests that wait for a fossil process.", &PageGauges::waiting},
    {"quarry_pages_cache_bytes", "Size of the page cache.", &PageGauges::cache_size},
});
constexpr auto kCountersOfPages = std::to_array<PageMetric<PageCounters>>({
    {"quarry_pages_requests_total", "Page requests answered.", &PageCounters::requests},
    {"quarry_pages_made_total", "Pages started.", &PageCounters::made},
    {"quarry_pages_from_cache_total", "Page requests answered from the cache.",
     &PageCounters::from_cache},
    {"quarry_pages_shared_total", "Page requests that joined another request for the same page.",
     &PageCounters::shared},
    {"quarry_pages_refused_total", "Page requests refused because too many requests waited.",
     &PageCounters::refused},
    {"quarry_pages_failed_total", "Pages that failed.", &PageCounters::failed},
});

void begin(Exposition& out, std::string_view name, std::string_view help) {
  out.family(name, name.ends_with("_total") ? Exposition::kCounter : Exposition::kGauge, help);
}

void write_pages(const MetricsSources& sources, Exposition& out) {
  const auto write = [&](const auto& metrics, auto figures_of) {
    for (const auto& metric : metrics) {
      begin(out, metric.name, metric.help);
      for (const auto& [pool, figures] : sources.pages) {
        out.sample({{"pool", pool}}, figures_of(*figures).*metric.figure);
      }
    }
  };
  write(
      kGaugesOfPages, [](const pages::Figures& figures) -> auto& { return figures.gauges(); });
  write(
      kCountersOfPages, [](const pages::Figures& figures) -> auto& { return figures.counters(); });
}

void write_failed_logins(const MetricsSources& sources,
                         const std::vector<scoreboard::PoolOverview>& pools, Exposition& out) {
  begin(out, "quarry_failed_logins_total", "Failed logins of syncs and change sets, and of pages.");
  for (const auto& pool : pools) {
    out.sample({{"pool", pool.pool.view()}, {"service", "sync"}}, pool.totals.failed_logins);
  }
  for (const auto& [pool, figures] : sources.pages) {
    out.sample({{"pool", pool}, {"service", "pages"}}, figures->counters().failed_logins);
  }
}

void write_peers(const std::vector<scoreboard::PeerOverview>& peers, Exposition& out) {
  const auto write = [&](std::string_view name, std::string_view help, auto figure) {
    begin(out, name, help);
    for (const auto& each : peers) {
      if (each.name.view().empty()) continue;
      out.sample({{"pool", each.pool.view()}, {"peer", each.name.view()}}, each.*figure);
    }
  };
  using scoreboard::PeerOverview;
  write("quarry_peer_received_artifacts_total", "Artifacts received from the peer.",
        &PeerOverview::received);
  write("quarry_peer_sent_artifacts_total", "Artifacts sent to the peer.", &PeerOverview::sent);
  write("quarry_peer_failures", "Failed syncs since the last successful sync.",
        &PeerOverview::failures);
  write("quarry_peer_last_success_timestamp_seconds",
        "End of the last successful sync, in seconds since 1970, or 0.", &PeerOverview::succeeded);
}

void write_courier(const pages::CourierView& courier, Exposition& out) {
  // If the state is unknown, write nothing, because zeros would mean that the courier has stopped.
  if (!courier.problem.empty()) return;
  begin(out, "quarry_courier_up", "Whether the courier is running.");
  out.sample({}, courier.is_running ? 1 : 0);
  const auto write = [&](std::string_view name, std::string_view help, auto get) {
    begin(out, name, help);
    for (const auto& each : courier.destinations) {
      out.sample({{"destination", each.name}}, each.*get);
    }
  };
  using Destination = pages::DestinationView;
  write("quarry_courier_waiting_events", "Events that wait for delivery.", &Destination::waiting);
  write("quarry_courier_delivered_events_total", "Delivered events.", &Destination::delivered);
  write("quarry_courier_dead_events", "Undeliverable events on disk.", &Destination::dead);
  begin(out, "quarry_courier_oldest_event_age_seconds", "Age of the oldest waiting event.");
  for (const Destination& each : courier.destinations) {
    const auto age = static_cast<std::uint64_t>(each.oldest.value_or(0));
    out.seconds({{"destination", each.name}}, age * 1000);
  }
}

void write_replica(const std::string& socket, Exposition& out) {
  const auto answer = control::Publication(socket, kReplicaTime).status();
  // As for the courier, write nothing if the state is unknown.
  if (!answer && answer.error().code == ErrorCode::kDenied) return;
  using nlohmann::json;
  const json status = json::parse(answer.value_or(""), nullptr, /*allow_exceptions=*/false);
  const auto write = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    begin(out, name, help);
    out.sample({}, value);
  };
  write("quarry_replica_up", "Whether quarry-replica is running and answers.", status.is_object());
  if (!status.is_object()) return;
  write("quarry_replica_connected", "Whether quarry-replica is connected to a NATS server.",
        status.value("connected", false));
  begin(out, "quarry_replica_lag_seconds",
        "Age of the last change that was read, or 0 if the stream does not have newer ones.");
  out.seconds({}, static_cast<std::uint64_t>(status.value("lag_seconds", 0.0) * 1000));
  const auto number = [&status](const char* name) { return status.value(name, std::uint64_t{0}); };
  write("quarry_replica_lag_messages", "Messages in the stream that have not been read yet.",
        number("lag_messages"));
  write("quarry_replica_repositories", "Replicated repositories.", number("repositories"));
  write("quarry_replica_failed_repositories",
        "Repositories whose changes cannot be published or applied.", number("failed"));
  write("quarry_replica_stale_repositories",
        "Repositories that differ from those of other hosts, or might.", number("different"));
}

void write_lost_lines(const MetricsSources& sources, Exposition& out) {
  begin(out, "quarry_log_lost_lines_total", "Lines that a log did not accept.");
  out.sample({{"log", "error"}}, base::lost_log_lines());
  for (const auto& [pool, log] : sources.access_logs) {
    out.sample({{"log", "access"}, {"pool", pool}}, log->lost());
  }
}

void write_log_delivery(const LogDestinations& logs, Exposition& out) {
  std::vector<std::pair<std::string_view, courier::ShippingFigures>> all;
  for (const auto& each : logs) {
    const auto now = courier::read_shipping_figures(each->figures.get());
    if (now) all.emplace_back(each->name, *now);
  }
  const auto write = [&](std::string_view name, std::string_view help, auto figure) {
    begin(out, name, help);
    for (const auto& [destination, now] : all) {
      out.sample({{"destination", destination}}, static_cast<std::uint64_t>(now.*figure));
    }
  };
  using Figures = courier::ShippingFigures;
  write("quarry_log_queued_lines", "Log lines that wait in memory.", &Figures::queued);
  write("quarry_log_disk_lines", "Log lines that wait on disk.", &Figures::on_disk);
  write("quarry_log_disk_bytes", "Size of the queue of log lines on disk.", &Figures::disk_bytes);
  write("quarry_log_delivered_lines_total", "Delivered log lines.", &Figures::delivered);
  write("quarry_log_rejected_lines_total", "Log lines that the receiver has rejected.",
        &Figures::rejected);
  write("quarry_log_queue_lost_lines_total",
        "Log lines lost because the queue was full or the process was killed.", &Figures::lost);
  write("quarry_log_last_failure_timestamp_seconds",
        "Time of the last failed delivery, in seconds since 1970, or 0.", &Figures::failed_at);
}

void write_queues(std::vector<pages::PoolQueues> pools, Exposition& out) {
  std::erase_if(pools, [](const auto& each) { return !each.view.problem.empty(); });
  begin(out, "quarry_change_set_queues", "Queues of change sets.");
  for (const auto& [pool, view] : pools) out.sample({{"pool", pool}}, view.queues);
  begin(out, "quarry_change_sets", "Change sets in each state.");
  for (const auto& [pool, view] : pools) {
    for (const auto& [state, count] : view.states) {
      out.sample({{"pool", pool}, {"state", state}}, count);
    }
  }
}

gateway::MetricsPage page_of(const MetricsSources& sources, std::string_view accept) {
  const auto form =
      http::prefers_openmetrics(accept) ? Exposition::Form::kOpenMetrics : Exposition::Form::kText;
  Exposition out(form);
  begin(out, "quarry_build_info", "Version of quarryd.");
  out.sample({{"version", QUARRY_VERSION}}, 1);
  const auto pools = sources.overview->read();
  scoreboard::write_pool_metrics(pools, out);
  write_failed_logins(sources, pools, out);
  write_lost_lines(sources, out);
  if (!sources.logs.empty()) write_log_delivery(sources.logs, out);
  scoreboard::write_job_metrics(sources.overview->read_jobs(), out);
  if (const auto peers = sources.overview->read_peers(); !peers.empty()) write_peers(peers, out);
  if (!sources.pages.empty()) write_pages(sources, out);
  if (sources.server.courier) write_courier(sources.server.courier(), out);
  if (!sources.replica_socket.empty()) write_replica(sources.replica_socket, out);
  if (sources.server.all_queues) write_queues(sources.server.all_queues(), out);
  return {Exposition::content_type_of(form), out.take()};
}

}  // namespace

Result<master::Service> metrics_service(const master::Config& config, MetricsSources sources,
                                        std::vector<master::InheritedSocket>& inherited) {
  master::Service service;
  service.name = "metrics";
  service.kind = master::ServiceKind::kObserver;
  service.run_as = config.pools.front().run_as;
  // The previous service must exit first, so that a scraper does not read older figures after newer
  // ones.
  service.starts_alone = true;
  service.kept_memories.push_back(
      {service.name, sources.overview->fd(), scoreboard::Overview::kLayout});
  keep_figures(sources.logs, service);
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(*config.global.metrics_listen, {}, &inherited));
  service.run = [sources = std::move(sources)](master::ChildContext& child) {
    return gateway::run_metrics(
        child.listener, [&sources](std::string_view accept) { return page_of(sources, accept); },
        [&child] { control::take_logs(*child.control, nullptr); });
  };
  return service;
}

}  // namespace quarry::app
