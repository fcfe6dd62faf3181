// A run of a repository's background work: its jobs, one after the other, each with a time of its
// own. One that fails keeps none of the others from running.
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
  /// When it has to have ended; what it has not done then is for the next run.
  std::chrono::steady_clock::time_point end;

  bool is_over() const { return std::chrono::steady_clock::now() >= end; }
};

struct Job {
  std::string name;  // as in messages: "after-receive hooks"
  std::chrono::milliseconds budget{};
  /// Returns how many things it has done (mails sent, hooks begun), 0 where there was nothing to do.
  std::function<base::Result<std::size_t>(JobContext&)> run;
};

struct Failure {
  std::string job;
  base::Error error;
};

struct RunReport {
  std::vector<std::pair<std::string, std::size_t>> done;  // by job, of those that did something
  std::vector<Failure> failures;
};

/// Runs JOBS in their order. IS_INTERRUPTED is asked between them: the rest is then left.
RunReport run_jobs(repository::Repository& repository, const std::vector<Job>& jobs,
                   const std::function<bool()>& is_interrupted = {});

}  // namespace quarry::backoffice
