#include "backoffice_jobs.h"

#include <fmt/core.h>

#include "quarry/backoffice/jobs.h"

namespace quarry::app {

base::Result<std::vector<backoffice::Job>> jobs_for(const BackofficeArguments& /*arguments*/,
                                                    repository::Repository& /*repository*/) {
  std::vector<backoffice::Job> jobs;
  jobs.push_back(backoffice::maintenance({}));
  return jobs;
}

void tell_failures(const BackofficeArguments& /*arguments*/, repository::Repository& repository,
                   const backoffice::RunReport& report) {
  // The first is the command's own error.
  for (std::size_t i = 1; i < report.failures.size(); ++i) {
    fmt::print(stderr, "{}: {}: {}\n", repository.path().string(), report.failures[i].job,
               report.failures[i].error.message);
  }
}

}  // namespace quarry::app
