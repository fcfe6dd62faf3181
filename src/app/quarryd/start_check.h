// Checks what would keep quarryd from starting with a valid configuration: an address that cannot
// be bound, a log that cannot be written, a user that cannot be changed to. For --test, and before
// a reload. The checks leave everything unchanged.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::app {

struct StartConditions {
  /// Whether it would start in the background.
  bool in_background = false;
  /// Addresses of the sockets that it would inherit, as SocketAddress::str().
  std::vector<std::string> inheritable;
  /// The master that is about to reload. Nothing: a server may be running with this configuration,
  /// so an address in use or the pid file of a running server is not an error.
  std::optional<pid_t> master;
};

/// Everything that would prevent a start with CONFIG, one line each; empty if it would succeed.
std::vector<std::string> start_errors(const master::Config& config, const StartConditions& start);

/// The addresses in CONFIG that cannot be bound now, without INHERITABLE ones: the place in the
/// configuration and the reason, one line each.
std::vector<std::string> bind_failures(const master::Config& config,
                                       const std::vector<std::string>& inheritable);

/// Whether CONFIG works without a terminal. Error: kInvalid.
base::Result<void> check_background(const master::Config& config);

}  // namespace quarry::app
