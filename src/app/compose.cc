#include "compose.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "quarry/base/log.h"
#include "quarry/gateway/gateway.h"
#include "quarry/worker/worker.h"

namespace quarry::app {
namespace {

using master::ChildContext;
using master::Service;

worker::StatusOptions status_options(const master::PoolConfig& pool) {
  return {pool.name, pool.status_path, pool.ping_path, pool.ping_response};
}

worker::WorkerOptions worker_options(const master::PoolConfig& pool) {
  const master::ServiceConfig& service = pool.service;
  worker::WorkerOptions options;
  options.pool = pool.name;
  options.repository = service.repository;
  options.repositories = service.repositories;
  options.cache = service.cache;
  options.open.busy_timeout = service.busy_timeout;
  options.open.max_artifact_size = service.max_artifact_size;
  options.open.content_cache_size = service.content_cache_size;
  options.session.max_body = service.sync_max_body;
  options.session.max_cards = service.sync_max_cards;
  options.session.max_gimme = service.sync_max_gimme;
  options.session.refuse_own_server_code = service.sync_refuse_own_server_code;
  options.session.single_login = service.sync_single_login;
  options.trust_remote_user = service.trust_remote_user;
  options.max_body = service.max_body;
  options.read_timeout = service.read_timeout;
  options.max_requests = pool.max_requests;
  options.allowed_clients = pool.allowed_clients;
  options.status = status_options(pool);
  return options;
}

base::Result<Service> pool_service(const master::PoolConfig& pool) {
  if (!pool.listen) return base::fail(base::ErrorCode::kInvalid, "a pool needs listen");
  Service service;
  service.name = fmt::format("pool {}", pool.name);
  service.kind = master::ServiceKind::kPool;
  service.processes = pool.processes;
  service.run_as = pool.run_as;
  service.limits = pool.limits;
  service.request_terminate_timeout = pool.request_terminate_timeout;
  QUARRY_TRY_ASSIGN(service.listener, master::Listener::open(*pool.listen, pool.listen_options));

  worker::WorkerOptions options = worker_options(pool);
  // Shared, since std::function wants to be copied; open for as long as the service.
  std::shared_ptr<const base::Fd> access_log;
  if (!pool.access_log.empty()) {
    access_log = std::make_shared<const base::Fd>(
        ::open(pool.access_log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
    if (!*access_log) return base::fail_errno(fmt::format("cannot open {}", pool.access_log));
    options.access_log = access_log->get();
    service.kept_descriptors.push_back(access_log->get());
  }
  service.run = [options = std::move(options), access_log](ChildContext& child) {
    return worker::run(
        options, {child.listener, *child.board, child.slot, *child.control, child.child_accept});
  };
  return service;
}

/// The pages about POOL, whose service is OBSERVED, on an address of their own.
base::Result<Service> status_service(const master::PoolConfig& pool, const Service& observed) {
  Service service;
  service.name = fmt::format("status {}", pool.name);
  service.run_as = pool.run_as;
  service.limits = pool.limits;
  service.observes = observed.name;
  QUARRY_TRY_ASSIGN(service.listener,
                    master::Listener::open(*pool.status_listen, pool.listen_options));
  worker::StatusServerOptions options{.status = status_options(pool),
                                      .queue = base::ListenQueue::of(observed.listener.fd()),
                                      .allowed_clients = pool.allowed_clients};
  service.run = [options = std::move(options)](ChildContext& child) {
    if (child.observed == nullptr) return 1;
    return worker::run_status(options,
                              {child.listener, *child.observed, child.slot, *child.control});
  };
  return service;
}

/// The HTTP front before POOL, which listens on POOL_ADDRESS.
base::Result<Service> http_service(const master::HttpConfig& http, const master::PoolConfig& pool,
                                   const base::SocketAddress& pool_address) {
  if (!http.listen) return base::fail(base::ErrorCode::kInvalid, "[http] needs listen");
  Service service;
  service.name = "gateway";
  service.kind = master::ServiceKind::kFront;
  service.run_as = http.run_as ? http.run_as : pool.run_as;
  QUARRY_TRY_ASSIGN(service.listener, master::Listener::open(*http.listen));

  QUARRY_TRY_ASSIGN(auto trusted, gateway::AddressSet::parse(http.trusted_proxies));
  gateway::GatewayOptions options{.pool = pool_address,
                                  .listeners = {service.listener.fd()},
                                  .trusted_proxies = std::move(trusted)};
  options.max_body = http.max_body;
  options.max_reply = http.max_reply;
  options.max_connections = http.max_connections;
  options.keepalive_timeout = http.keepalive_timeout;
  options.client_timeout = http.client_timeout;
  options.pool_timeout = http.pool_timeout;
  service.run = [options = std::move(options)](ChildContext&) { return gateway::run(options); };
  return service;
}

/// Where SERVICE listens, for the log.
std::string place_of(const Service& service) {
  const auto& address = service.listener.address();
  return address ? address->str() : "nothing";
}

}  // namespace

base::Result<std::vector<Service>> compose(const master::Config& config) {
  std::vector<Service> services;
  std::optional<Service> front;
  for (const master::PoolConfig& pool : config.pools) {
    QUARRY_TRY_ASSIGN(auto service, pool_service(pool));
    base::log(base::LogLevel::kNotice, "[{}] listens on {}", service.name, place_of(service));
    const auto& address = service.listener.address();
    if (config.http && address && &pool == &config.pool_of_http()) {
      QUARRY_TRY_ASSIGN(front, http_service(*config.http, pool, *address));
      base::log(base::LogLevel::kNotice, "serving http://{}/", place_of(*front));
    }
    std::optional<Service> status;
    if (pool.status_listen) {
      QUARRY_TRY_ASSIGN(status, status_service(pool, service));
      base::log(base::LogLevel::kNotice, "[{}] listens on {}", status->name, place_of(*status));
    }
    services.push_back(std::move(service));
    if (status) services.push_back(std::move(*status));
  }
  // Last, so that the workers are there when the first request comes.
  if (front) services.push_back(std::move(*front));
  return services;
}

}  // namespace quarry::app
