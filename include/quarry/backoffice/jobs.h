// The jobs of a run (run.h). The state that a job keeps between runs is a row of the repository's
// `config`. A run without work writes nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quarry/backoffice/run.h"
#include "quarry/spool/hand_over.h"

namespace quarry::backoffice {

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
