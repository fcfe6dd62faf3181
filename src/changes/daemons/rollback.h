// Step 7: a rollback takes back what it names, and all that depends on that. While it is under way,
// nothing else is executed.
//
//   1. The rollback moves to run/ and lists all that goes (##closure), so that after a crash the
//      same is taken back.
//   2. What waits and goes moves to abandon/, with ##rollback and where it was; those that depend on
//      others first, or they would fail for that.
//   3. Those that run and go are stopped (SIGHUP); all others that run end what they have.
//   4. A child makes the one reverse check-in of all that has landed. That lands once, like any.
//   5. Those that had landed are marked with ##rollback; the rollback moves to done/.
//
// If 2 or 4 fails, what moved to abandon/ goes back to where it was.
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
  /// Begins with the one called NAME, which is in pending/. Errors: it is to be tried again.
  base::Result<void> begin(const ChangeSetName& name);
  /// Goes on with it; to be called again until it is not under way. Errors: something is left to be
  /// done, at the next scan.
  base::Result<void> go_on();
  /// The child has answered, or died.
  base::Result<void> take(const Answer& answer);
  /// Puts back what JOB, a rollback that came to nothing, moved to abandon/.
  base::Result<void> restore(const Job& job);
  /// When it has to be called again.
  std::optional<base::UnixMillis> next_time() const { return deadline_; }
  /// In a child: lets go of the job.
  void leave_daemon() { lock_.reset(); }

 private:
  base::Result<std::vector<ChangeSetId>> closure_of(const Job& job) const;
  void stop_running();
  base::Result<void> abandon_all();
  base::Result<void> abandon(const ChangeSetId& id);
  base::Result<void> extend();
  base::Result<void> mark(const ChangeSetId& id, const Job& rollback);
  base::Result<void> end(Stage to, const std::string& why);
  base::Result<void> come_to_nothing(Verdict verdict, const std::string& why);

  const DaemonContext& context_;
  Tracker& tracker_;
  Children& children_;
  std::optional<JobLock> lock_;
  bool is_given_ = false;  // a child takes back
  std::set<ChangeSetId> stopped_;
  std::optional<base::UnixMillis> deadline_;
};

}  // namespace quarry::changes
