// Whether what a pool is to serve is there.
#pragma once

#include "process_checks.h"
#include "quarry/master/config.h"

namespace quarry::master {

/// Checks the file or folder of POOL, as its workers will see it from inside their root.
void check_repositories(const PoolConfig& pool, const Findings& findings);

}  // namespace quarry::master
