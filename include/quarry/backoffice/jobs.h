// One run of a repository's background jobs, one after the other, each with its own time budget. A
// failed job does not stop the others. The state that a job keeps between runs is a row of the
// repository's `config`. A run without work writes nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/spool/hand_over.h"

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

/// Where to publish events, and how the repository is named in them.
struct PublishOptions {
  std::shared_ptr<const spool::HandOver> courier;
  std::string name;  // as served
  std::string path;  // absolute path of its file
};
/// Publishes what has arrived since the last run to the courier. The first run only stores the
/// current position. If the process ends before it has stored the new position, events are
/// published again.
Job publish_events(const PublishOptions& options);
/// Publishes failed logins, actions of administrators and changes to users since the last run. The
/// first run only stores the current position.
Job publish_security_events(const PublishOptions& options);
/// Has the courier run the hooks that `fossil hook add` stored, with what has arrived since the
/// last run (repository/received_list.h), unless a push is in progress.
Job after_receive_hooks(const PublishOptions& options);

/// Publishes the FAILED jobs of REPOSITORY, without retries. No Snapshot may be alive.
base::Result<void> publish_failures(repository::Repository& repository,
                                    const PublishOptions& options,
                                    const std::vector<Failure>& failed);

/// Sends the mail that is due (alerts.h): alerts and, once a day, digests and expiry notices.
/// Errors: mail could not be sent; it stays in the outbox and is retried.
Job mail();

/// Deletes expired rows, updates SQLite's statistics, and verifies all artifacts, a portion per
/// hour, then starts over. Errors: kCorrupt for damage.
Job maintenance();

/// Stores old versions as deltas against newer ones (repository/compaction.h), a portion per run,
/// until IS_INTERRUPTED. It sleeps half of the time to limit the load. Errors: kCorrupt for damage.
Job compaction(const std::function<bool()>& is_interrupted);

}  // namespace quarry::backoffice
