// The services that run other programs for a pool:
//
//   `quarry backoffice`   the background work of its repositories, started when a worker reports
//                         that a run is due, and periodically
//   `quarry peer run`     a sync with a peer; one process per peer, started when the peer is due
//                         (the previous process has set the time), and when a worker reports
//                         content that the peer does not have. It is not a job of the backoffice,
//                         which is one process per repository and minute and holds a lease: a peer
//                         that hangs would delay mail and hooks
//   `quarry-changes KIND` the daemons for its change-set queues; one process per kind serves the
//                         queues of all repositories. The command line contains the repositories
//                         and each directive that differs from its default (changes_directives.h):
//                         [--courier SOCKET] [--notices] [--set NAME=VALUE]…
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

/// The courier to which these programs send events.
struct EventTarget {
  std::string socket;        // the courier's socket; "" if there is no courier
  bool has_notices = false;  // whether submitters of change sets are notified by mail
};

/// Returns the service, or nullopt if POOL does not want a backoffice or cannot have one; the
/// latter is logged.
std::optional<master::Service> backoffice_service(const master::PoolConfig& pool,
                                                  const worker::BackgroundOptions& options,
                                                  const EventTarget& courier);
/// Returns whether a run is due in REPOSITORY; used for BackgroundOptions::check.
base::Result<worker::BackgroundCheck> look_for_work(repository::Repository& repository,
                                                    std::chrono::milliseconds lease_time);

/// Returns the peers in CONFIG that belong to POOL's repositories.
std::vector<ConfiguredPeer> peers_of(const master::Config& config, const master::PoolConfig& pool);
/// Returns the numbers with which the pool's workers identify PEERS.
worker::PeerNumbers peer_numbers(const std::vector<ConfiguredPeer>& peers);
/// Returns the service, or nullopt if PEERS is empty.
std::optional<master::Service> peers_service(const master::PoolConfig& pool,
                                             const std::vector<ConfiguredPeer>& peers,
                                             const EventTarget& courier);

/// Returns the services, or an empty list if POOL has no queues or cannot have any; the latter is
/// logged.
std::vector<master::Service> changes_services(const master::PoolConfig& pool,
                                              const changes::PoolOptions& options,
                                              const EventTarget& courier);

}  // namespace quarry::app
