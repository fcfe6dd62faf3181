// The daemons of a pool's change-set queues: `quarry-changes prequeue`, `queueing` and `execution`,
// one process each, which look after the queues of all repositories of the pool.
//
// They are told on their command line what to look after, and each word of the configuration that is
// not as it would be anyway (changes_directives.h):
//
//   quarry-changes KIND [--courier SOCKET] [--notices] [--set WORD=VALUE]… (FILE | --folder FOLDER)
#pragma once

#include <string>
#include <vector>

#include "quarry/changes/options.h"
#include "quarry/master/config.h"
#include "quarry/master/service.h"

namespace quarry::app {

/// The courier, and what it is told.
struct EventsTo {
  std::string socket;        // "": there is none
  bool has_notices = false;  // it writes to submitters
};

/// Whether POOL can have queues; if it wants some and cannot, the log has it.
bool has_changes(const master::PoolConfig& pool, const changes::PoolOptions& options);

/// The services of POOL; none where it wants none, or cannot have any.
std::vector<master::Service> changes_services(const master::PoolConfig& pool,
                                              const changes::PoolOptions& options,
                                              const EventsTo& courier);

/// What such a daemon is started with, without its name and kind.
std::vector<std::string> changes_arguments(const master::PoolConfig& pool,
                                           const changes::PoolOptions& options,
                                           const EventsTo& courier);

}  // namespace quarry::app
