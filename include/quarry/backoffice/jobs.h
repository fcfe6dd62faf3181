// One run of a repository's background jobs. The jobs run one after the other, each with its own
// time budget. A failed job does not stop the others. A job keeps its state between runs in a row
// of the repository's `config`. A run in which there is no work writes nothing.
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

/// The data that a job works with.
struct JobContext {
  repository::Repository& repository;
  /// Deadline. The next run continues with the remaining work.
  std::chrono::steady_clock::time_point end;

  bool is_over() const { return std::chrono::steady_clock::now() >= end; }
};

struct Job {
  std::string name;  // as shown in messages, such as "after-receive hooks"
  std::chrono::milliseconds budget{};
  /// Returns the number of items processed (mails sent, hooks started); 0 if there was no work.
  std::function<base::Result<std::size_t>(JobContext&)> run;
};

struct Failure {
  std::string job;
  base::Error error;
};

struct RunReport {
  std::vector<std::pair<std::string, std::size_t>> done;  // the counts of the jobs that did
                                                          // something
  std::vector<Failure> failures;
};

/// Runs JOBS in order. IS_INTERRUPTED is called between jobs. If it returns true, the remaining
/// jobs are skipped.
RunReport run_jobs(repository::Repository& repository, const std::vector<Job>& jobs,
                   const std::function<bool()>& is_interrupted = {});

/// The courier to publish events to, and the name and path of the repository in these events.
struct PublishOptions {
  std::shared_ptr<const spool::HandOver> courier;
  std::string name;  // the name under which it is served
  std::string path;  // absolute path of its file
};
/// Publishes the artifacts that have arrived since the last run to the courier. The first run only
/// stores the current position. If the process ends before it has stored the new position, events
/// are published again.
Job publish_events(const PublishOptions& options);
/// Publishes failed logins, actions of administrators and changes to users since the last run. The
/// first run only stores the current position.
Job publish_security_events(const PublishOptions& options);
/// Tells the courier to run the hooks that `fossil hook add` has stored, and passes them what has
/// arrived since the last run (repository/received_list.h). Does nothing while a push is in
/// progress.
Job after_receive_hooks(const PublishOptions& options);

/// Publishes the jobs in FAILED of REPOSITORY, without retries. No Snapshot may exist.
base::Result<void> publish_failures(repository::Repository& repository,
                                    const PublishOptions& options,
                                    const std::vector<Failure>& failed);

/// Sends the mail that is due (alerts.h): alerts and, once a day, digests and expiry notices.
/// Returns an error if mail could not be sent; that mail stays in the outbox and is retried.
Job mail();

/// Deletes expired rows, updates SQLite's statistics, and verifies a portion of the artifacts per
/// hour. After the last artifact, it starts over. Errors: kCorrupt for damage.
Job maintenance();

/// Stores old versions as deltas against newer ones (repository/compaction.h), a portion per run,
/// until IS_INTERRUPTED returns true. It sleeps half of the time to limit the load. Errors:
/// kCorrupt for damage.
Job compaction(const std::function<bool()>& is_interrupted);

}  // namespace quarry::backoffice
