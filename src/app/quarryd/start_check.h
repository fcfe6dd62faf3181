// What would keep quarryd from starting with a configuration that is right in itself: an address
// that cannot be bound, a log that cannot be written, a user that cannot be become. For --test, and
// before a reload. Every look leaves things as they were.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::app {

struct StartConditions {
  /// Whether it would go to the background.
  bool in_background = false;
  /// Addresses of the sockets that it would be handed, as SocketAddress::str().
  std::vector<std::string> inheritable;
  /// The master that is about to reload. Nothing: a server may be running with this configuration,
  /// so that an address in use, or a pid file of one that runs, is not an obstacle.
  std::optional<pid_t> master;
};

/// All that is in the way of a start with CONFIG, each in a line; nothing: it would succeed.
std::vector<std::string> obstacles(const master::Config& config, const StartConditions& start);

/// What CONFIG listens on, apart from INHERITABLE addresses, and could not be bound now: where it
/// stands and why, each in a line.
std::vector<std::string> not_free(const master::Config& config,
                                  const std::vector<std::string>& inheritable);

/// Whether CONFIG can do without a terminal. Errors: kInvalid.
base::Result<void> check_background(const master::Config& config);

}  // namespace quarry::app
