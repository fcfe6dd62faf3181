// The jobs of a backoffice run.
#pragma once

#include <vector>

#include "backoffice_commands.h"
#include "quarry/backoffice/run.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

std::vector<backoffice::Job> jobs_for(const BackofficeArguments& arguments,
                                      repository::Repository& repository);

/// Reports the failures in REPOSITORY on standard error, and to the courier if there is one.
void report_failures(const BackofficeArguments& arguments, repository::Repository& repository,
                     const backoffice::RunReport& report);

}  // namespace quarry::app
