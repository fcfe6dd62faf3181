// The daemons for a pool's change-set queues: `quarry-changes prequeue`, `queueing` and
// `execution`, one process each, for the queues of all repositories of the pool.
//
// Their command line has the repositories to serve, and each directive that differs from its
// default (changes_directives.h):
//
//   quarry-changes KIND [--courier SOCKET] [--notices] [--set NAME=VALUE]… (FILE | --folder FOLDER)
#pragma once

#include <string>
#include <vector>

#include "quarry/changes/options.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"

namespace quarry::app {

/// Where the daemons send events.
struct EventTarget {
  std::string socket;        // the courier's socket; "": none
  bool has_notices = false;  // whether submitters are notified by mail
};

/// Whether POOL can have queues. If it is configured to have some and cannot, that is logged.
bool has_changes(const master::PoolConfig& pool, const changes::PoolOptions& options);

/// The services for POOL; empty if it has no queues.
std::vector<master::Service> changes_services(const master::PoolConfig& pool,
                                              const changes::PoolOptions& options,
                                              const EventTarget& courier);

/// The arguments of such a daemon, without program name and kind.
std::vector<std::string> changes_arguments(const master::PoolConfig& pool,
                                           const changes::PoolOptions& options,
                                           const EventTarget& courier);

}  // namespace quarry::app
