#include "compose.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "configuration.h"
#include "courier_configuration.h"
#include "courier_service.h"
#include "front_certificates.h"
#include "hooks_service.h"
#include "metrics_service.h"
#include "page_sources.h"
#include "pages_service.h"
#include "peer_configuration.h"
#include "pool_services.h"
#include "quarry/base/log.h"
#include "quarry/control/reopened_logs.h"
#include "quarry/gateway/gateway.h"
#include "quarry/scoreboard/overview.h"
#include "quarry/worker/worker.h"
#include "replica_configuration.h"
#include "replica_service.h"

namespace quarry::app {
namespace {

// Maximum number of services of a pool that run jobs: backoffice, events and peers.
constexpr std::size_t kJobServices = 3;

using master::ChildContext;
using master::Service;

worker::StatusOptions status_options(const master::PoolConfig& pool,
                                     const std::optional<PagesService>& pages,
                                     const pages::ServerSources& sources,
                                     const worker::ReplicationOptions& replication) {
  return {.pool = pool.name,
          .status_path = pool.status_path,
          .ping_path = pool.ping_path,
          .ping_response = pool.ping_response,
          .pages = pages ? pages->figures : nullptr,
          .sources = sources,
          .replica_state = replication.state_file};
}

/// Returns the shared figures for pools with `status_all` and for the metrics, or null if CONFIG
/// sets neither `status_all` nor `metrics.listen`. Errors: kIo.
Result<std::shared_ptr<scoreboard::Overview>> overview_for(const master::Config& config,
                                                           EarlierFigures& earlier) {
  const bool has_metrics = config.global.metrics_listen.has_value();
  if (!has_metrics && std::ranges::none_of(config.pools, &master::PoolConfig::status_all)) {
    return nullptr;
  }
  return scoreboard::Overview::create(
      {.pools = config.pools.size(),
       .jobs = kJobServices * config.pools.size(),
       .peers = peers_in(config).peers.size()},
      earlier.take_memory("metrics", scoreboard::Overview::kLayout, config.pools.front().run_as));
}

worker::WorkerOptions worker_options(const master::PoolConfig& pool,
                                     const std::vector<ConfiguredPeer>& peers,
                                     const std::optional<ReplicaConfig>& replica) {
  worker::WorkerOptions options = worker_options_in(pool);
  options.pool = pool.name;
  options.repository = pool.repository;
  options.repositories = pool.repositories;
  options.allowed_clients = pool.allowed_clients;
  options.peers = peer_numbers(peers);
  if (replica && is_replicated(*replica, pool)) {
    options.replication = {.socket = replica->socket,
                           .host = replica->options.stream.host,
                           .state_file = replica->options.folder / "state",
                           .waits = replica->options.waits_for_quorum,
                           .time_out = replica->options.acknowledge_timeout};
  }
  options.background.check = [lease_time = options.background.lease_time](auto& repository) {
    return look_for_work(repository, lease_time);
  };
  // A pool with a chroot does not have a backoffice; see backoffice_service().
  if (!pool.process.chroot.empty()) options.background.is_enabled = false;
  if (!pool.process.chroot.empty()) options.changes.is_enabled = false;
  return options;
}

/// Returns the name of the memory file that counts the lost lines of POOL's access log.
std::string lost_lines_of(const std::string& pool) {
  return "lost lines " + pool;
}

Result<void> open_access_log(const master::Config& config, const master::PoolConfig& pool,
                             EarlierFigures& earlier, std::shared_ptr<base::AccessLog>& log) {
  QUARRY_TRY_ASSIGN(
      auto opened,
      base::AccessLog::open(
          {access_log_path(config, pool), pool.access.format, pool.access.suppress_paths},
          earlier.take_memory(lost_lines_of(pool.name), base::LostLines::kLayout, pool.run_as)));
  log = std::make_shared<base::AccessLog>(std::move(opened));
  return {};
}

/// Checks that the slow log can be written, so that an error is reported at startup and not at the
/// first slow request.
Result<void> check_slow_log(const master::SlowLogConfig& log) {
  if (log.path.empty()) return {};
  const base::Fd file(::open(log.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (file) return {};
  return fail_errno("cannot open the slow log {}", log.path);
}

/// Returns OPENED. During a reload, logs an error instead of returning it. The server then
/// continues without the log.
Result<void> unless_reloading(Start start, Result<void> opened) {
  if (opened || start == Start::kFirst) return opened;
  base::log(base::LogLevel::kError, "{}; continuing without it", opened.error().message);
  return {};
}

using Inherited = std::vector<master::InheritedSocket>;

Result<Service> pool_service(const master::PoolConfig& pool, worker::WorkerOptions options,
                             const std::optional<PagesService>& pages, Start start,
                             Inherited& inherited) {
  if (!pool.listen) return fail(ErrorCode::kInvalid, "a pool needs listen");
  Service service;
  service.name = fmt::format("pool {}", pool.name);
  service.pool = pool.name;
  service.kind = master::ServiceKind::kPool;
  service.processes = pool.processes;
  service.run_as = pool.run_as;
  service.process = pool.process;
  service.request_terminate_timeout = pool.request_terminate_timeout;
  service.terminate_track_finished = pool.terminate_track_finished;
  service.slow_log = pool.slow_log;
  QUARRY_TRY(unless_reloading(start, check_slow_log(pool.slow_log)));
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(*pool.listen, pool.listen_options, &inherited));

  if (options.access_log) {
    service.kept_descriptors.push_back(options.access_log->fd());
    service.kept_memories.push_back(
        {lost_lines_of(pool.name), options.access_log->lost_memory(), base::LostLines::kLayout});
    service.access_log = options.access_log;
  }
  // Workers pass connections to the pages process through a socket pair. `service.run` keeps the
  // pair open in the master, and kept_descriptors keeps the workers' end open in the workers.
  const auto connections = pages ? pages->connections : nullptr;
  if (pages) {
    options.pages_passing = connections->passing.get();
    service.kept_descriptors.push_back(options.pages_passing);
  }
  service.run = [options = std::move(options), connections](ChildContext& child) {
    return worker::run(
        options, {child.listener, *child.board, child.slot, *child.control, child.child_accept});
  };
  return service;
}

/// Returns the service for POOL's status pages on a separate address. OBSERVED is the service of
/// the pool.
Result<Service> status_service(const master::PoolConfig& pool, const Service& observed,
                               const worker::StatusOptions& status, Inherited& inherited) {
  Service service;
  service.name = fmt::format("status {}", pool.name);
  service.kind = master::ServiceKind::kObserver;
  service.run_as = pool.run_as;
  service.process = pool.process;
  service.observes = observed.name;
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(*pool.status_listen, pool.listen_options, &inherited));
  worker::StatusServerOptions options{.status = status,
                                      .queue = base::ListenQueue::of(observed.listener.fd()),
                                      .allowed_clients = pool.allowed_clients};
  service.run = [options = std::move(options)](ChildContext& child) {
    if (child.observed == nullptr) return 1;
    return worker::run_status(options,
                              {child.listener, *child.observed, child.slot, *child.control});
  };
  return service;
}

/// Returns the name in Service::kept_memories of the memory file that contains the HTTP front's
/// certificate NUMBER.
std::string certificate_memory(std::size_t number) {
  return fmt::format("certificate {}", number);
}

/// Returns the certificates of the HTTP front, which runs as RUN_AS. If START continues the previous
/// configuration, they are in EARLIER. Errors: kInvalid, kNotFound.
Result<std::vector<gateway::Certificate>> certificates_for(
    const master::Config& config, const std::optional<master::Credentials>& run_as, Start start,
    EarlierFigures& earlier) {
  if (start != Start::kContinue) {
    auto [certificates, errors] = read_certificates(config);
    if (!errors.empty()) return fail(ErrorCode::kInvalid, errors.front());
    return std::move(certificates);
  }
  std::vector<gateway::Certificate> kept(gateway_options_in(*config.http).certificate_files.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    kept[i].memory = earlier.take_memory(certificate_memory(i), 0, run_as);
    if (!kept[i].memory) return fail(ErrorCode::kNotFound, "certificate {} was not inherited", i);
  }
  return kept;
}

/// Returns the HTTP front for POOL. POOL_ADDRESS is the address of POOL.
Result<Service> http_service(const master::Config& config, const master::PoolConfig& pool,
                             const base::SocketAddress& pool_address,
                             const std::optional<PagesService>& pages,
                             std::shared_ptr<scoreboard::RefusalTally> refusals, Start start,
                             Inherited& inherited, EarlierFigures& earlier) {
  const master::HttpConfig& http = *config.http;
  if (http.listens.empty()) return fail(ErrorCode::kInvalid, "[http] needs listen");
  Service service;
  service.name = "gateway";
  service.kind = master::ServiceKind::kFront;
  service.run_as = http.run_as ? http.run_as : pool.run_as;
  service.process = http.process;
  QUARRY_TRY_ASSIGN(auto certificates, certificates_for(config, service.run_as, start, earlier));
  QUARRY_TRY_ASSIGN(auto trusted, base::AddressSet::parse(http.trusted_proxies));
  gateway::GatewayOptions options = gateway_options_in(http);
  options.pool = pool_address;
  options.place = http::place_kind(!pool.repository.empty(), worker_options_in(pool).has_index);
  for (const master::HttpListen& listen : http.listens) {
    QUARRY_TRY_ASSIGN(
        auto listener,
        master::Listener::open(*listen.address, {.is_ipv6_only = listen.is_ipv6_only}, &inherited));
    options.listeners.push_back({.descriptor = listener.fd(),
                                 .port = listener.address()->port(),
                                 .is_tls = listen.is_tls,
                                 .redirects = listen.redirects,
                                 .has_proxy_protocol = listen.has_proxy_protocol});
    base::log(base::LogLevel::kNotice, "serving {}://{}/", listen.is_tls ? "https" : "http",
              listener.address()->str());
    (service.listener.fd() < 0 ? service.listener : service.more_listeners.emplace_back()) =
        std::move(listener);
  }
  for (const gateway::Certificate& each : certificates) {
    service.kept_memories.push_back(
        {.name = certificate_memory(options.certificates.size()), .fd = each.memory.get()});
    options.certificates.push_back(each.memory.get());
    service.kept_descriptors.push_back(each.memory.get());
    for (const std::string& warning : each.warnings) {
      base::log(base::LogLevel::kWarning, "[http] {}", warning);
    }
  }
  if (options.max_connections_per_address != 0) {
    options.max_handled_per_address = std::max<std::size_t>(pool.processes.max_children / 2, 2);
  }
  options.trusted_proxies = std::move(trusted);
  options.has_rlimit_files = http.process.limits.files || config.global.limits.files;
  service.kept_descriptors.push_back(refusals->fd());
  options.refusals = std::move(refusals);
  const auto connections = pages ? pages->connections : nullptr;
  if (pages) {
    options.pages_passing = connections->passing.get();
    service.kept_descriptors.push_back(options.pages_passing);
    options.pool_paths = {pool.status_path, pool.ping_path};
    const bool has_index = worker_options_in(pool).has_index && !pool.repositories.empty();
    if (has_index) options.pool_paths.emplace_back("/");
    options.has_folders = has_index;
  }
  // The master kills the front after process_control_timeout, so let the front exit earlier.
  options.stop_grace = std::min(options.stop_grace, config.global.process_control_timeout / 2);
  // The master keeps the memory files open, because it needs them to restart the front.
  const auto kept = std::make_shared<std::vector<gateway::Certificate>>(std::move(certificates));
  service.run = [options = std::move(options), connections, kept](ChildContext& child) {
    return gateway::run(options, [&child] { control::take_logs(*child.control, nullptr); });
  };
  return service;
}

/// Returns the refusals of the HTTP front if it serves POOL, otherwise null. Errors: kIo.
Result<std::shared_ptr<scoreboard::RefusalTally>> tally_of_front(const master::Config& config,
                                                                 const master::PoolConfig& pool) {
  if (!config.http || &pool != &config.pool_of_http()) return nullptr;
  return scoreboard::RefusalTally::create(scoreboard::Refuser::kFront);
}

/// Returns the refusals that happen before requests reach a pool's workers.
scoreboard::RefusalTallies tallies_before(const std::shared_ptr<scoreboard::RefusalTally>& front,
                                          const std::optional<PagesService>& pages) {
  scoreboard::RefusalTallies tallies;
  if (front) tallies.push_back(front);
  if (pages) tallies.push_back(pages->refusals);
  return tallies;
}

/// Publishes in OVERVIEW the figures of all SERVICES that run jobs.
void publish_jobs(std::vector<Service>& services,
                  const std::shared_ptr<scoreboard::Overview>& overview) {
  std::size_t index = 0;
  for (Service& service : services) {
    if (!service.on_request) continue;
    service.on_jobs = [overview, index, name = service.name](const scoreboard::JobFigures& jobs) {
      overview->publish_jobs(index, name, jobs);
    };
    ++index;
  }
  // Clear the remaining entries, because the memory might contain services from before a reload.
  for (; index < overview->sizes().jobs; ++index) overview->publish_jobs(index, "", {});
}

/// Publishes in OVERVIEW the reports of the syncs with PEERS, which SERVICE runs. The first peer
/// has the index FIRST in OVERVIEW.
void publish_peers(Service& service, const std::vector<ConfiguredPeer>& peers, std::size_t first,
                   const std::shared_ptr<scoreboard::Overview>& overview) {
  struct Known {
    std::uint32_t number;
    scoreboard::PeerOverview figures;
  };
  std::vector<Known> known;
  const auto earlier = overview->read_peers();
  for (const ConfiguredPeer& peer : peers) {
    // Keep the peer's figures from before a reload, if the memory contains them.
    const std::size_t index = first + known.size();
    scoreboard::PeerOverview figures = earlier[index];
    if (figures.name.view() != peer.options.name || figures.pool.view() != peer.pool) figures = {};
    overview->publish_peer(index, figures);
    figures.name.assign(peer.options.name);
    figures.pool.assign(peer.pool);
    known.push_back({peer.number, figures});
  }
  service.on_message = [overview, first, known = std::move(known)](
                           std::uint32_t number, const control::Message& message) mutable {
    const auto at = std::ranges::find(known, number, &Known::number);
    if (at == known.end()) return;
    switch (message.verb) {
      case control::Verb::kPeerReceived:
        at->figures.received = message.number;
        return;
      case control::Verb::kPeerSent:
        at->figures.sent = message.number;
        return;
      case control::Verb::kPeerFailures:
        at->figures.failures = message.number;
        return;
      case control::Verb::kPeerSucceeded:
        at->figures.succeeded = message.number;
        overview->publish_peer(first + static_cast<std::size_t>(at - known.begin()), at->figures);
        return;
      default:
        return;
    }
  };
}

/// Returns the address on which SERVICE listens, for the log.
std::string address_text(const Service& service) {
  const auto& address = service.listener.address();
  return address ? address->str() : "nothing";
}

}  // namespace

Result<master::Control> open_control(const master::Config& config, std::string about,
                                     Inherited& inherited) {
  master::Control control;
  control.config = std::move(about);
  if (!config.global.control) return control;
  // Only the owner may connect. In addition to this mode, the server checks the credentials of each
  // peer.
  constexpr mode_t kOwnerAlone = 0600;
  auto listener = master::Listener::open(*config.global.control, {.mode = kOwnerAlone}, &inherited);
  if (!listener) {
    return fail(listener.error().code, "control.socket: {}", listener.error().message);
  }
  control.listener = std::move(*listener);
  base::log(base::LogLevel::kNotice,
            "for the status of this server, run: quarry status --socket {}",
            config.global.control->path());
  return control;
}

Result<std::vector<Service>> compose(const master::Config& config,
                                     const std::filesystem::path& path, Start start,
                                     Inherited& inherited, EarlierFigures& earlier,
                                     const LogDestinations& logs) {
  std::vector<Service> services;
  std::optional<Service> front;
  QUARRY_TRY_ASSIGN(auto courier, courier_service(config, path, inherited));
  const auto replica_config = replica_config_in(config);
  QUARRY_TRY_ASSIGN(auto replica, replica_service(config, path, inherited));
  QUARRY_TRY_ASSIGN(const auto overview, overview_for(config, earlier));
  MetricsSources metrics{
      .overview = overview, .server = server_sources(config, {}), .pages = {}, .logs = logs};
  if (replica_config) metrics.replica_socket = replica_config->socket;
  std::size_t published_peers = 0;
  for (const master::PoolConfig& pool : config.pools) {
    const auto peers = peers_of(config, pool);
    worker::WorkerOptions for_workers = worker_options(pool, peers, replica_config);
    const worker::ReplicationOptions replication = for_workers.replication;
    if (!pool.access.path.empty()) {
      QUARRY_TRY(
          unless_reloading(start, open_access_log(config, pool, earlier, for_workers.access_log)));
    }
    QUARRY_TRY_ASSIGN(auto pages, pages_service(pool, for_workers, earlier));
    if (for_workers.access_log) metrics.access_logs.emplace_back(pool.name, for_workers.access_log);
    if (pages) metrics.pages.emplace_back(pool.name, pages->figures);
    QUARRY_TRY_ASSIGN(const auto of_front, tally_of_front(config, pool));
    const auto tallies = tallies_before(of_front, pages);
    for_workers.status = status_options(
        pool, pages, page_sources(config, pool, overview, tallies, logs), for_workers.replication);
    const worker::StatusOptions status_pages = for_workers.status;
    QUARRY_TRY_ASSIGN(auto service,
                      pool_service(pool, std::move(for_workers), pages, start, inherited));
    if (&pool == &config.pools.front() && base::lost_lines_memory() >= 0) {
      service.kept_memories.push_back(
          {kErrorLogMemory, base::lost_lines_memory(), base::LostLines::kLayout});
    }
    if (pool.status_all) keep_figures(logs, service);
    if (overview) {
      const auto index = static_cast<std::size_t>(&pool - config.pools.data());
      service.on_snapshot = [overview, index, tallies](const scoreboard::PoolSnapshot& snapshot) {
        overview->publish(index, snapshot, scoreboard::recent_refusals(snapshot.refusals, tallies));
      };
    }
    const auto options = worker_options_in(pool);
    base::log(base::LogLevel::kNotice, "[{}] listening on {}", service.name, address_text(service));
    const auto& address = service.listener.address();
    if (of_front && address) {
      QUARRY_TRY_ASSIGN(
          front, http_service(config, pool, *address, pages, of_front, start, inherited, earlier));
    }
    std::optional<Service> status;
    if (pool.status_listen) {
      QUARRY_TRY_ASSIGN(status, status_service(pool, service, status_pages, inherited));
      if (pool.status_all) keep_figures(logs, *status);
      base::log(base::LogLevel::kNotice, "[{}] listening on {}", status->name,
                address_text(*status));
    }
    QUARRY_TRY_ASSIGN(auto hooks, hooks_service(config, pool, inherited));
    const std::string pool_courier = hooks ? hooks->listener.address()->path() : std::string();
    const EventTarget events{
        .socket = courier ? courier->listener.address()->path() : std::string(),
        .hooks = runs_hooks(config) ? pool_courier : std::string(),
        .webhooks = options.has_repository_webhooks ? pool_courier : std::string(),
        .replica = replica_config && is_replicated(*replica_config, pool) ? replica_config->socket
                                                                          : std::string(),
        .has_notices = writes_to_submitters(config)};
    auto backoffice = backoffice_service(pool, options.background, events);
    auto publishing = events_service(pool, options.background, events);
    auto syncs = peers_service(pool, peers, events);
    if (syncs && overview) publish_peers(*syncs, peers, published_peers, overview);
    published_peers += peers.size();
    services.push_back(std::move(service));
    if (syncs) services.push_back(std::move(*syncs));
    if (backoffice) services.push_back(std::move(*backoffice));
    if (publishing) services.push_back(std::move(*publishing));
    std::ranges::move(
        changes_services(pool, options.changes, events, peer_numbers(peers), replication),
        std::back_inserter(services));
    if (hooks) services.push_back(std::move(*hooks));
    if (pages) services.push_back(std::move(pages->service));
    if (status) services.push_back(std::move(*status));
  }
  if (courier) services.push_back(std::move(*courier));
  if (replica) services.push_back(std::move(*replica));
  for (const auto& each : logs) {
    QUARRY_TRY_ASSIGN(auto service, log_service(config, path, each));
    services.push_back(std::move(service));
  }
  if (overview) publish_jobs(services, overview);
  if (config.global.metrics_listen) {
    QUARRY_TRY_ASSIGN(auto service, metrics_service(config, std::move(metrics), inherited));
    base::log(base::LogLevel::kNotice, "[metrics] listening on {}", address_text(service));
    services.push_back(std::move(service));
  }
  // The front is last, because workers must be running when the first request arrives.
  if (front) services.push_back(std::move(*front));
  return services;
}

}  // namespace quarry::app
