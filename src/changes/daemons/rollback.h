// Carries out a rollback: rolls back the change sets that it names, all change sets that depend on
// them, and all that landed later and touched the same files. While it runs, no other job is
// executed.
//
//   1. The rollback moves to run/ and lists all change sets that it will roll back (##closure).
//      After a crash, it uses the same list.
//   2. The waiting jobs in the list move to abandon/, with ##rollback and their previous stage.
//      Dependents move first, because otherwise they would fail.
//   3. The running jobs in the list are stopped (SIGHUP). Other running jobs finish.
//   4. A child makes one reverse check-in for all jobs that have landed. It lands only once, like
//      any other check-in. If no job has landed, this step is omitted.
//   5. The landed jobs are marked with ##rollback. The rollback moves to done/.
//
// If step 2 or 4 fails, the jobs in abandon/ return to their previous stages.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "children.h"
#include "queue_worker.h"
#include "tracker.h"

namespace quarry::changes {

class Rollback {
 public:
  Rollback(const DaemonContext& context, Tracker& tracker, Children& children)
      : context_(context), tracker_(tracker), children_(children) {}

  bool is_under_way() const { return lock_.has_value(); }
  /// Starts the rollback NAME, which is in pending/. After an error, the rollback is retried.
  Result<void> begin(const ChangeSetName& name);
  /// Continues the rollback. Call this function until no rollback is in progress. After an error,
  /// the remaining steps are done at the next scan.
  Result<void> go_on();
  /// Handles the child's answer, or its exit without an answer.
  Result<void> take(const Answer& answer);
  /// Moves the abandoned jobs of JOB, a failed rollback, back to their previous stages.
  Result<void> restore(const Job& job);
  /// Returns the time at which go_on() has to be called again.
  std::optional<base::UnixMillis> next_time() const { return deadline_; }
  /// Called in a child: releases the lock.
  void leave_daemon() { lock_.reset(); }

 private:
  Result<std::vector<ChangeSetId>> closure_of(const Job& job) const;
  void stop_running();
  Result<void> abandon_all();
  Result<void> abandon(const ChangeSetId& id);
  Result<void> extend();
  Result<void> mark(const ChangeSetId& id, const Job& rollback);
  void release();
  Result<void> end(Stage to, const std::string& why);
  Result<void> undo(Verdict verdict, const std::string& why);

  const DaemonContext& context_;
  Tracker& tracker_;
  Children& children_;
  std::optional<JobLock> lock_;
  bool is_handed_over_ = false;  // a child is making the reverse check-in
  std::set<ChangeSetId> stopped_;
  std::optional<base::UnixMillis> deadline_;
};

}  // namespace quarry::changes
