#include "backoffice_jobs.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "common/interruption.h"
#include "quarry/backoffice/jobs.h"

namespace quarry::app {
namespace {

// Timeout for handing over events, which waits for the courier's disk.
constexpr std::chrono::seconds kCourierPatience{20};

/// The name by which the repository in PATH is served.
std::string served_name(const BackofficeArguments& arguments, const std::filesystem::path& path) {
  if (!arguments.is_folder) return path.stem().string();
  return path.lexically_relative(arguments.files.front()).replace_extension().string();
}

backoffice::PublishOptions telling(const BackofficeArguments& arguments,
                                   const repository::Repository& repository) {
  return {.courier = std::make_shared<spool::HandOver>(arguments.courier, kCourierPatience),
          .name = served_name(arguments, repository.path()),
          .path = std::filesystem::absolute(repository.path()).string()};
}

}  // namespace

std::vector<backoffice::Job> jobs_for(const BackofficeArguments& arguments,
                                      repository::Repository& repository) {
  std::vector<backoffice::Job> jobs;
  if (!arguments.courier.empty()) {
    jobs.push_back(backoffice::publish_events(telling(arguments, repository)));
    jobs.push_back(backoffice::publish_security_events(telling(arguments, repository)));
    jobs.push_back(backoffice::after_receive_hooks(telling(arguments, repository)));
  }
  jobs.push_back(backoffice::mail());
  jobs.push_back(backoffice::maintenance());
  if (arguments.compacts) {
    jobs.push_back(backoffice::compaction([] { return Interruption::signal() != 0; }));
  }
  return jobs;
}

void report_failures(const BackofficeArguments& arguments, repository::Repository& repository,
                     const backoffice::RunReport& report) {
  if (report.failures.empty()) return;
  // The first is the command's own error.
  for (std::size_t i = 1; i < report.failures.size(); ++i) {
    fmt::print(stderr, "{}: {}: {}\n", repository.path().string(), report.failures[i].job,
               report.failures[i].error.message);
  }
  if (arguments.courier.empty()) return;
  const auto told =
      backoffice::publish_failures(repository, telling(arguments, repository), report.failures);
  if (!told) fmt::print(stderr, "{}\n", told.error().message);
}

}  // namespace quarry::app
