// Which jobs a run has, and with what.
#pragma once

#include <vector>

#include "backoffice_commands.h"
#include "quarry/backoffice/run.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

std::vector<backoffice::Job> jobs_for(const BackofficeArguments& arguments,
                                      repository::Repository& repository);

/// Tells standard error what has failed in REPOSITORY, and the courier, where there is one.
void tell_failures(const BackofficeArguments& arguments, repository::Repository& repository,
                   const backoffice::RunReport& report);

}  // namespace quarry::app
