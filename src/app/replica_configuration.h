// The directives of [replication]. quarryd uses them to check the configuration, to start
// quarry-replica, and to tell workers where it listens. quarry-replica and `quarry replica` use
// them, too. Each directive is defined in one place, with its type and its field. The default is
// the initial value of the field.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/master/config.h"
#include "quarry/replica/replica.h"

namespace quarry::app {

struct ReplicaConfig {
  replica::ReplicaOptions options{.stream = {}, .pools = {}, .folder = "/var/lib/quarry/replica"};
  std::string socket = "/run/quarry/replica.sock";
  /// Names of the replicated pools; empty: all pools without a chroot. They are also in
  /// `options.pools`, with their repositories.
  std::vector<std::string> pools;
  /// The user of the replicated pools, as which quarry-replica runs. nullopt: the master's user.
  /// Not set by read_replica_config().
  std::optional<master::Credentials> runs_as;
};

/// Returns a new options object for the section NAME, or null if it is not `replication`.
std::shared_ptr<master::CarriedOptions> replica_section(const std::string& name);
/// Returns the options in CONFIG, or nullopt if CONFIG does not have a [replication] section.
std::optional<ReplicaConfig> replica_config_in(const master::Config& config);
/// Returns whether the repositories of POOL are replicated.
bool is_replicated(const ReplicaConfig& config, const master::PoolConfig& pool);
/// Returns the errors that depend on the pools, each as "FILE:LINE: …".
std::vector<std::string> replica_mistakes(const master::Config& config);

/// The [replication] section of a configuration file, or all mistakes in it.
struct ReplicaReading {
  ReplicaConfig config;  // valid only without mistakes
  std::vector<std::string> mistakes;
};
/// Reads only [replication] and the repositories of pools, because a process that does not run as
/// root cannot check the rest.
ReplicaReading read_replica_config(const std::filesystem::path& path);

}  // namespace quarry::app
