// Checks a section of the configuration for mistakes and for settings without effect.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "quarry/master/config.h"

namespace quarry::master {

using Finding = std::function<void(const std::string& directive, const std::string& message)>;

struct Findings {
  Finding mistake;  // an error, which makes the configuration invalid
  Finding notice;   // a setting without effect
};

/// Checks SETTINGS and removes settings without effect.
void check_process(ProcessSettings& settings, bool running_as_root, const Findings& findings);
/// Checks PRIORITY and removes it if it does not have an effect.
void check_priority(std::optional<int>& priority, bool running_as_root, const Findings& findings);
/// Checks the numbers for pm = dynamic. HAS_START says whether pm.start_servers is set. If not, the
/// function sets pm.start_servers to a value between pm.min_spare_servers and pm.max_spare_servers.
void check_spare_servers(ProcessLimits& limits, bool has_start, const Findings& findings);

/// Resolves the users and groups in POOL's listen.acl_users and listen.acl_groups.
void check_socket_access(PoolConfig& pool, const Findings& findings);
/// If the master is root, resolves the owner and group of the socket. The default is the user and
/// group of the workers. If the socket has an access list, owner and group are ignored.
void check_socket_owner(PoolConfig& pool, const Findings& findings);

/// Checks that slowlog or pm.status_path is set if another directive needs it. HAS_LOG and HAS_PATH
/// say whether slowlog and pm.status_path are set, even to an invalid value.
void check_slow_log(const PoolConfig& pool, bool has_log, const Findings& findings);
void check_status(const PoolConfig& pool, bool has_path, const Findings& findings);

/// Checks that the file or folder of POOL exists in the chroot of its workers.
void check_repositories(const PoolConfig& pool, const Findings& findings);

}  // namespace quarry::master
