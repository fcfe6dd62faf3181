// Landing orders made from jobs and their tarballs.
#pragma once

#include <filesystem>

#include "quarry/base/result.h"
#include "quarry/changes/executor.h"
#include "quarry/changes/job.h"
#include "quarry/changes/landing.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

/// The order for JOB, without files.
LandingOrder order_of(const Job& job);

/// The order for JOB, with the files in TARBALL. Errors: those of TarballReaders::read().
base::Result<LandingOrder> order_of(const Job& job, const std::filesystem::path& tarball,
                                    TarballReaders& readers, const ExecutorOptions& options);

}  // namespace quarry::changes
