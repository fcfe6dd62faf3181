// Checks that a pool's repositories exist.
#pragma once

#include "process_checks.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Checks the file or folder of POOL, as its workers will see it inside their chroot.
void check_repositories(const PoolConfig& pool, const Findings& findings);

}  // namespace quarry::master
