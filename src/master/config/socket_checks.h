// Whose the Unix socket of a pool is, and who else may connect to it.
#pragma once

#include "process_checks.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Puts the users and groups that POOL names into its access list.
void check_socket_access(PoolConfig& pool, const Findings& findings);
/// Puts the owner and group of the socket into POOL, where the master is root: those that it
/// names, or those of its workers. Beside an access list they have no effect.
void check_socket_owner(PoolConfig& pool, const Findings& findings);

}  // namespace quarry::master
