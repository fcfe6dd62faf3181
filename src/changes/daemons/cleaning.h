// Deletes finished jobs that are older than `changes.keep`, with their tarballs, submissions and
// logs. Keeps finished jobs that are still needed (past.h).
//
// A pass reads all finished jobs and deletes the old ones. It processes a few jobs each time the
// daemon runs, so that the queue is not delayed. The pass pauses while a submission is waiting to
// be checked, because the submission can depend on any job. It also pauses during a rollback,
// because the rollback might have to return stopped jobs to their previous stages.
//
// The job file is deleted first, and the deletion is synced. If a crash leaves other files behind,
// Directories::recover() deletes the tarballs later, and the next pass deletes the logs.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "past.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_log.h"
#include "queue_worker.h"
#include "tracker.h"

namespace quarry::changes {

class Cleaning {
 public:
  Cleaning(const DaemonContext& context, Tracker& tracker) : context_(context), tracker_(tracker) {}

  /// Does a part of the pass. Call it after all other work. After an error, the pass ends.
  Result<void> run(Scan scan);
  /// Returns the time at which the current pass continues, or nullopt if the next full scan begins
  /// or continues a pass.
  std::optional<base::UnixMillis> next_time() const { return next_; }
  bool is_idle() const { return !next_; }

 private:
  Result<void> begin(base::UnixMillis now);
  Result<void> find_logs();
  Result<bool> may_go_on();
  Result<void> go_on();
  Result<void> read_some();
  Result<void> forget_some();
  Result<void> remove_logs();
  Result<bool> has_job(const LogRecord& record) const;
  Result<bool> is_orphan(const ChangeSetId& id) const;
  void end(base::UnixMillis now);

  /// State of a pass.
  struct Pass {
    base::UnixMillis before;             // jobs that finished at or after this time are kept
    std::vector<ChangeSetId> logs;       // logs for which no job was found
    std::vector<JobLocation> locations;  // not read yet
    Past past;
    bool is_complete = false;  // all jobs have been read
    std::size_t forgotten = 0;
    std::set<ChangeSetId> asked;  // unfinished jobs whose dependencies are already in `past`
  };

  const DaemonContext& context_;
  Tracker& tracker_;
  std::optional<Pass> pass_;
  base::UnixMillis next_pass_;
  std::optional<base::UnixMillis> next_;
};

}  // namespace quarry::changes
