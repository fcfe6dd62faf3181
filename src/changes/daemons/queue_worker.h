// One queue in the hands of one of the daemons.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/joint_move.h"
#include "quarry/changes/triggers.h"

namespace quarry::changes {

enum class Scan : std::uint8_t {
  kNew,  // what a trigger tells of
  kAll,  // also what was missed
};

/// What every daemon has of a queue.
struct DaemonContext {
  const QueueOptions& options;
  Directories& directories;
  const base::Clock& clock;
  const Report& report;

  /// Moves HOLD, and tells of it: the report and the log. Errors: those of the move.
  base::Result<void> move(JobLock& lock, Stage to, std::string_view why,
                          Syncing syncing = Syncing::kNow) const;
  /// Commits MOVE, and tells of those that have moved.
  std::vector<JointMove::Member> move(JointMove& move) const;
  void wake(Trigger trigger) const { pull(directories.base() / "ctrl", trigger); }
  void log(const base::Error& error) const;

 private:
  void record_move(const Job& job, Stage from, Stage to) const;
};

class QueueWorker {
 public:
  virtual ~QueueWorker() = default;
  /// Once, before all else.
  virtual base::Result<void> begin() { return {}; }
  /// Does what is to be done. Errors: something is left to be done, at the next scan.
  virtual base::Result<void> run(Scan scan) = 0;
  /// Where more to do shows, beside the trigger.
  virtual std::vector<int> descriptors() const { return {}; }
  /// When there is more to do in any case.
  virtual std::optional<base::UnixMillis> next_time() const { return std::nullopt; }
  /// Nothing is under way.
  virtual bool is_idle() const { return true; }
  /// The daemon is to end: nothing new is begun.
  virtual void finish() {}
  /// In a child: closes what is the daemon's.
  virtual void leave_daemon() {}
};

}  // namespace quarry::changes
