// What would keep quarryd from starting with a configuration that is right in itself: an address
// that is taken, a log that cannot be written, a user that cannot be become. For --test, and before
// a reload. Every look leaves things as they were.
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
  /// Whether it is known which sockets it would be handed.
  bool knows_addresses = true;
  /// Addresses of the sockets that it would be handed, as SocketAddress::str().
  std::vector<std::string> inheritable;
  /// Whose pid file there may be; nothing: that of any quarryd that runs.
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
