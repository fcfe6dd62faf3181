// The jobs of a run (run.h). What each has to remember between runs is a row of the repository's
// `config`; a run that finds nothing to do writes nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quarry/backoffice/run.h"
#include "quarry/event/event.h"
#include "quarry/spool/hand_over.h"

namespace quarry::backoffice {

/// Who is told of what has come, and as what.
struct PublishOptions {
  std::shared_ptr<const spool::HandOver> courier;
  std::string name;  // of the repository, as it is served
  std::string path;  // of its file, absolute
};
/// What all events about REPOSITORY have in common. Inside a Snapshot or a Receipt.
event::Head head_of(repository::Repository& repository, const PublishOptions& options);
/// Tells the courier of what came since the last time. The first time nothing is: what is there then
/// is no news. An event is told again where this process ends before it has noted that it was.
Job publish_events(const PublishOptions& options);
/// Tells the courier of failed logins, of what administrators did, and of changes of users, since the
/// last time. The first time nothing is.
Job publish_security_events(const PublishOptions& options);
/// Has the courier run the hooks that `fossil hook add` stored, with what came since the last time
/// (repository/received_list.h), unless a push is going on.
Job after_receive_hooks(const PublishOptions& options);

/// Tells the courier what has FAILED in REPOSITORY; that is no more than a try. No Snapshot may be
/// alive.
base::Result<void> publish_failures(repository::Repository& repository,
                                    const PublishOptions& options,
                                    const std::vector<Failure>& failed);

/// Sends the mail that is due (alerts.h): alerts, and once a day digests and notices of renewal. What
/// keeps mail from being sent is an error, while it waits to be tried again.
Job mail();

struct MaintenanceOptions {
  std::chrono::seconds interval{3600};           // between two looks
  std::chrono::milliseconds verification{2000};  // that each spends on verifying artifacts
  std::chrono::hours access_log_kept{24 * 365};
};
/// Forgets what has expired, keeps SQLite's statistics true, and verifies all artifacts, some in each
/// look, beginning anew after the last. Damage is an error (kCorrupt).
Job maintenance(const MaintenanceOptions& options);

struct CompactionOptions {
  std::chrono::milliseconds budget{20'000};  // that each run spends on it
  std::function<bool()> is_interrupted = {};
};
/// Stores old versions as deltas on newer ones (repository/compaction.h), some in each run. It rests
/// half of the time, so that nobody misses the processor. Damage is an error (kCorrupt).
Job compaction(const CompactionOptions& options);

}  // namespace quarry::backoffice
