// Checks a section of the configuration for mistakes and for settings that have no effect.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "quarry/master/config.h"

namespace quarry::master {

/// Reports a message about a directive.
using Finding = std::function<void(const std::string& directive, const std::string& message)>;

struct Findings {
  Finding mistake;  // makes the configuration invalid
  Finding notice;   // a setting without effect
};

/// Checks SETTINGS and removes those that have no effect.
void check_process(ProcessSettings& settings, bool running_as_root, const Findings& findings);
/// Does the same for the priority only.
void check_priority(std::optional<int>& priority, bool running_as_root, const Findings& findings);
/// Checks the numbers of pm = dynamic. If pm.start_servers is not set (HAS_START), it is set to a
/// value between the other two.
void check_spare_servers(ProcessLimits& limits, bool has_start, const Findings& findings);

/// Resolves the users and groups in POOL's listen.acl_users and listen.acl_groups.
void check_socket_access(PoolConfig& pool, const Findings& findings);
/// If the master is root, resolves the owner and group of the socket. The default is the user and
/// group of the workers. With an access list they have no effect.
void check_socket_owner(PoolConfig& pool, const Findings& findings);

/// Checks that the file or folder of POOL exists as its workers will see it, inside their chroot.
void check_repositories(const PoolConfig& pool, const Findings& findings);

}  // namespace quarry::master
