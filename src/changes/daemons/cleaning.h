// Forgets what ended longer ago than the queue is to keep (`changes.keep`): its job file, tarball,
// submission and log. What is not over stays, and what is needed of the rest (past.h).
//
// A pass looks at all that is over, a little in each turn of the daemon, so that the queue goes on
// meanwhile; and so it goes with what is forgotten. It rests while something waits to be looked at,
// which may depend on whatever there is, and while a rollback is at work, which may have to put back
// what it stopped.
//
// The job file goes first, for good. What a crash leaves of the others is nobody's: tarballs are
// removed by Directories::recover(), logs by the next pass.
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

  /// One turn, after all else. Errors: the pass is given up.
  base::Result<void> run(Scan scan);
  /// When it goes on; nothing: with a scan for all.
  std::optional<base::UnixMillis> next_time() const { return next_; }
  bool is_idle() const { return !next_; }

 private:
  base::Result<void> begin(base::UnixMillis now);
  base::Result<void> find_logs();
  base::Result<bool> may_go_on();
  base::Result<void> go_on();
  base::Result<void> read_some();
  base::Result<void> forget_some();
  base::Result<void> remove_logs();
  base::Result<bool> has_job(const LogRecord& record) const;
  base::Result<bool> is_orphan(const ChangeSetId& id) const;
  void end(base::UnixMillis now);

  /// What is known in the middle of a pass.
  struct Pass {
    base::UnixMillis before;          // what ended later is not old
    std::vector<ChangeSetId> logs;    // that are nobody's, it seems
    std::vector<JobLocation> places;  // to be read
    Past past;
    bool is_complete = false;  // all is read
    std::size_t forgotten = 0;
    std::set<ChangeSetId> asked;  // those not over whose needs are known
  };

  const DaemonContext& context_;
  Tracker& tracker_;
  std::optional<Pass> pass_;
  base::UnixMillis next_pass_;
  std::optional<base::UnixMillis> next_;
};

}  // namespace quarry::changes
