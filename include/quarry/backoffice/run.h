// One run of a repository's background jobs, one after the other, each with its own time budget. A
// failed job does not stop the others.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// What a job works with.
struct JobContext {
  repository::Repository& repository;
  /// Deadline; the next run continues with what is left.
  std::chrono::steady_clock::time_point end;

  bool is_over() const { return std::chrono::steady_clock::now() >= end; }
};

struct Job {
  std::string name;  // as shown in messages: "after-receive hooks"
  std::chrono::milliseconds budget{};
  /// Returns the number of things done (mails sent, hooks started); 0 if there was nothing to do.
  std::function<base::Result<std::size_t>(JobContext&)> run;
};

struct Failure {
  std::string job;
  base::Error error;
};

struct RunReport {
  std::vector<std::pair<std::string, std::size_t>> done;  // per job that did something
  std::vector<Failure> failures;
};

/// Runs JOBS in order. IS_INTERRUPTED is checked between jobs; if true, the rest is skipped.
RunReport run_jobs(repository::Repository& repository, const std::vector<Job>& jobs,
                   const std::function<bool()>& is_interrupted = {});

}  // namespace quarry::backoffice
