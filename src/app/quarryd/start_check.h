// Checks for problems that would keep quarryd from starting although its configuration is valid: an
// address that cannot be bound, a log that cannot be written, a user that it cannot change to. Used
// by --test and before a reload. The checks change nothing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::app {

struct StartConditions {
  /// Whether quarryd would start in the background.
  bool in_background = false;
  /// Addresses, as SocketAddress::str(), of the sockets that quarryd would inherit.
  std::vector<std::string> inheritable;
  /// The master that is about to reload. If it is nullopt, a server may be running with this
  /// configuration, so an address in use or the pid file of a running server is not an error.
  std::optional<pid_t> master;
};

/// Returns all problems that would prevent a start with CONFIG, one line each; empty if there are
/// none.
std::vector<std::string> start_errors(const master::Config& config, const StartConditions& start);

/// Returns the addresses in CONFIG that cannot be bound now, except those in INHERITABLE. Each line
/// names the place in the configuration and the reason.
std::vector<std::string> bind_failures(const master::Config& config,
                                       const std::vector<std::string>& inheritable);

/// Checks that CONFIG works without a terminal. Errors: kInvalid.
base::Result<void> check_background(const master::Config& config);

}  // namespace quarry::app
