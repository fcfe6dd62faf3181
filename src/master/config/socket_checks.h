// Owner, group and access list of a pool's Unix socket.
#pragma once

#include "process_checks.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Resolves the users and groups in POOL's listen.acl_users and listen.acl_groups.
void check_socket_access(PoolConfig& pool, const Findings& findings);
/// If the master is root, resolves the owner and group of the socket; the default is the user and
/// group of the workers. With an access list they have no effect.
void check_socket_owner(PoolConfig& pool, const Findings& findings);

}  // namespace quarry::master
