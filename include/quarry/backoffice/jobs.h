// One run of a repository's background jobs. The jobs run one after the other, each with its own
// time budget. A failed job does not stop the others. Between runs, a job keeps its state in a row
// of the repository's `config`. A run without work writes nothing.
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

struct JobContext {
  repository::Repository& repository;
  /// Deadline of the job. Work that is not finished at the deadline is left to the next run.
  std::chrono::steady_clock::time_point end;

  bool is_over() const { return std::chrono::steady_clock::now() >= end; }
};

struct Job {
  std::string name;  // as shown in messages, such as "after-receive hooks"
  std::chrono::milliseconds budget{};
  /// Processes items, such as emails or hooks, and returns their number.
  std::function<Result<std::size_t>(JobContext&)> run;
};

struct Failure {
  std::string job;
  Error error;
};

struct RunReport {
  std::vector<std::pair<std::string, std::size_t>> done;  // number of processed items by job
  std::vector<Failure> failures;
};

/// Runs JOBS in order. IS_INTERRUPTED is called between jobs. If IS_INTERRUPTED returns true, the
/// remaining jobs are skipped.
RunReport run_jobs(repository::Repository& repository, const std::vector<Job>& jobs,
                   const std::function<bool()>& is_interrupted = {});

/// The courier that receives the events, and the name and path of the repository in these events.
struct PublishOptions {
  std::shared_ptr<const spool::HandOver> courier;
  std::string name;  // name of the repository on the server
  std::string path;  // absolute path of the repository's file
  /// The courier that delivers to the webhooks in the repository; null: the webhooks are ignored.
  std::shared_ptr<const spool::HandOver> webhooks = nullptr;
};
/// Sends the courier an event for each artifact that has arrived since the last run. The first run
/// only stores the current position. If the process exits before the new position is stored, the
/// next run publishes the same events again.
Job publish_events(const PublishOptions& options);
/// Sends the courier an event for each failed login, each action of an administrator and each
/// change to a user since the last run. The first run only stores the current position.
Job publish_security_events(const PublishOptions& options);
/// Sends an event for each hook that `fossil hook add` has stored. The event contains the list of
/// artifacts received since the last run (repository/received_list.h). OPTIONS.courier must be the
/// courier that runs the hooks of this pool. Does nothing while a push is in progress.
Job after_receive_hooks(const PublishOptions& options);

/// Publishes an event for each failure in FAILED, without retries. The caller must not hold a
/// Snapshot.
Result<void> publish_failures(repository::Repository& repository, const PublishOptions& options,
                              const std::vector<Failure>& failed);

/// Sends the email that is due (alerts.h): alerts and, once a day, digests and expiry notices. For
/// METHODS and CLAIM_DAY, see AlertOptions. Returns an error if an email failed; the email stays in
/// the outbox for a retry.
Job mail(const std::vector<std::string>& methods,
         const std::function<Result<bool>(std::int64_t day)>& claim_day = {});

/// Deletes expired rows, updates SQLite's statistics, and verifies a portion of the artifacts every
/// hour. After the last artifact, verification starts again with the first. Errors: kCorrupt for
/// damage.
Job maintenance();

/// Stores old versions as deltas against newer versions (repository/compaction.h), a portion per
/// run, until IS_INTERRUPTED returns true. To limit the load, the job sleeps half of the time.
/// Errors: kCorrupt for damage.
Job compaction(const std::function<bool()>& is_interrupted);

}  // namespace quarry::backoffice
