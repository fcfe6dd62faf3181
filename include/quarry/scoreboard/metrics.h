// The metrics of all pools and of the jobs of their services. Their names begin with quarry_, and
// each sample has a label `pool`. quarry.conf(5) lists them.
#pragma once

#include <span>

#include "quarry/scoreboard/exposition.h"
#include "quarry/scoreboard/overview.h"

namespace quarry::scoreboard {

void write_pool_metrics(std::span<const PoolOverview> pools, Exposition& out);
/// Writes the metrics of JOBS. The name of a service is its kind, a space, and its pool.
void write_job_metrics(std::span<const JobOverview> jobs, Exposition& out);

}  // namespace quarry::scoreboard
