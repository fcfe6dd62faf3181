// Finds problems that prevent quarryd from starting with a valid configuration: an address that
// cannot be bound, a log that cannot be written, a user to which quarryd cannot change, or files and
// programs that this user cannot access (access_check.h). These checks run for --test and before a
// reload, and do not change anything.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/master/config.h"

namespace quarry::app {

struct StartConditions {
  /// Whether quarryd will start in the background.
  bool in_background = false;
  /// The configuration file, which the courier and quarry-replica read. Empty with --serve.
  std::filesystem::path config = {};
  /// Addresses, as SocketAddress::str(), of the sockets that quarryd will inherit.
  std::vector<std::string> inheritable;
  /// The master that is about to reload, or nullopt. If it is nullopt, a server might be running
  /// with this configuration. An address in use and the pid file of a running server are then not
  /// errors.
  std::optional<pid_t> master;
};

/// Returns the problems that prevent quarryd or a service from starting with CONFIG, one per line.
std::vector<std::string> start_errors(const master::Config& config, const StartConditions& start);
/// Returns the reasons why pools of CONFIG can answer pulls but not pushes, which are not errors
/// for a read-only mirror. Also returns warnings about certificates.
std::vector<std::string> start_warnings(const master::Config& config);

/// Returns the addresses in CONFIG that cannot be bound now, except those in INHERITABLE. Each line
/// contains the place in the configuration and the reason.
std::vector<std::string> bind_failures(const master::Config& config,
                                       const std::vector<std::string>& inheritable);

/// Checks that quarryd can run with CONFIG in the background. Errors: kInvalid.
Result<void> check_background(const master::Config& config);

}  // namespace quarry::app
