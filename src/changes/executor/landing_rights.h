// The rights of submitters, which are checked again when their change sets land.
#pragma once

#include <optional>
#include <string>

#include "quarry/changes/job.h"
#include "quarry/changes/rights.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

/// If the submitter of JOB has lost the right to submit it, returns the reason, otherwise nullopt.
/// Use inside a Snapshot or a Receipt of REPOSITORY.
std::optional<std::string> objection_to_landing(repository::Repository& repository,
                                                const Rights& rights, const Job& job);

}  // namespace quarry::changes
