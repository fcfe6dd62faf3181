// The services that run other programs for a pool:
//
//   `quarry backoffice`   Does background work of a repository. Started periodically, after a
//                         request for a page, and when a worker reports that a run is due.
//   `… --events`          Sends the events of a repository to the courier. Started when a request
//                         has brought new content, even if another process holds the lease.
//   `quarry peer run`     Syncs with a peer, in one process per peer. Started at the time that the
//                         previous process has set, and when a worker reports new content for the
//                         peer. The backoffice does not sync, because a peer that hangs would
//                         delay mail and hooks.
//   `quarry-changes KIND` Serves the change-set queues of all repositories, in one process per kind
//                         of daemon. The command line contains the repositories and each directive
//                         that differs from its default (changes_directives.h):
//                         [--courier SOCKET] [--notices] [--peer NAME=NUMBER]…
//                         [--set NAME=VALUE]…
//                         (FILE | --folder FOLDER)
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "peer_configuration.h"
#include "quarry/base/result.h"
#include "quarry/changes/options.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"
#include "quarry/worker/worker_options.h"

namespace quarry::app {

/// The courier to which these programs send events, and quarry-replica.
struct EventTarget {
  std::string socket;        // "" if the courier is not configured
  std::string hooks;         // the socket that accepts the pool's hooks; "" if they are not run
  std::string webhooks;      // the same socket; "" without webhooks of repositories
  std::string replica;       // quarry-replica's socket; "" if the pool is not replicated
  bool has_notices = false;  // whether submitters of change sets get notices by mail
};

/// Returns the service. Returns nullopt if POOL does not want a backoffice. Also returns nullopt,
/// and logs the reason, if POOL cannot have a backoffice.
std::optional<master::Service> backoffice_service(const master::PoolConfig& pool,
                                                  const worker::BackgroundOptions& options,
                                                  const EventTarget& courier);
/// Returns the service that sends new events to COURIER after requests. Returns nullopt if there is
/// no courier or no backoffice.
std::optional<master::Service> events_service(const master::PoolConfig& pool,
                                              const worker::BackgroundOptions& options,
                                              const EventTarget& courier);
/// Returns whether a run is due in REPOSITORY. Used as BackgroundOptions::check.
Result<worker::BackgroundCheck> look_for_work(repository::Repository& repository,
                                              std::chrono::milliseconds lease_time);

/// Returns the peers in CONFIG that belong to POOL's repositories.
std::vector<ConfiguredPeer> peers_of(const master::Config& config, const master::PoolConfig& pool);
/// Returns the numbers by which the pool's workers identify PEERS.
worker::PeerNumbers peer_numbers(const std::vector<ConfiguredPeer>& peers);
/// Returns the service, or nullopt if PEERS is empty.
std::optional<master::Service> peers_service(const master::PoolConfig& pool,
                                             const std::vector<ConfiguredPeer>& peers,
                                             const EventTarget& courier);

/// Returns the services. After a landing they request the backoffice, and a sync with PEERS.
/// Returns an empty list if POOL does not have queues. Also returns an empty list, and logs the
/// reason, if POOL cannot have queues.
std::vector<master::Service> changes_services(const master::PoolConfig& pool,
                                              const changes::PoolOptions& options,
                                              const EventTarget& courier,
                                              const worker::PeerNumbers& peers,
                                              const worker::ReplicationOptions& replication);

}  // namespace quarry::app
