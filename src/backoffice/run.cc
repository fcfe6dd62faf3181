#include <exception>

#include "quarry/backoffice/jobs.h"

namespace quarry::backoffice {
namespace {

/// Runs JOB and converts exceptions to errors. SQL statements throw exceptions if they are aborted
/// or the file is damaged.
Result<std::size_t> run_one(const Job& job, JobContext& context) {
  try {
    return job.run(context);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kIo, error.what());
  }
}

}  // namespace

RunReport run_jobs(repository::Repository& repository, const std::vector<Job>& jobs,
                   const std::function<bool()>& is_interrupted) {
  RunReport report;
  for (const Job& job : jobs) {
    if (is_interrupted && is_interrupted()) break;
    JobContext context{repository, std::chrono::steady_clock::now() + job.budget};
    auto done = run_one(job, context);
    if (!done) {
      report.failures.push_back({job.name, std::move(done).error()});
    } else if (*done > 0) {
      report.done.emplace_back(job.name, *done);
    }
  }
  return report;
}

}  // namespace quarry::backoffice
