// What a job and its tarball order to land.
#pragma once

#include <filesystem>

#include "quarry/base/result.h"
#include "quarry/changes/executor.h"
#include "quarry/changes/job.h"
#include "quarry/changes/landing.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

/// All of JOB's order but its files.
LandingOrder order_of(const Job& job);

/// JOB's order, with the files that are in TARBALL. Errors: as TarballReaders::read().
base::Result<LandingOrder> order_of(const Job& job, const std::filesystem::path& tarball,
                                    TarballReaders& readers, const ExecutorOptions& options);

}  // namespace quarry::changes
