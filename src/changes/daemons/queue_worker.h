// The work of a daemon for one queue.
#pragma once

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
  kNew,  // looks for changes that triggers announce
  kAll,  // also looks for changes that no trigger announces
};

/// A queue's data, which all parts of a daemon share.
struct DaemonContext {
  const QueueOptions& options;
  Directories& directories;
  const base::Clock& clock;
  const Report& report;

  /// Moves the job of LOCK, then logs and reports the move. Passes on errors from the move.
  Result<void> move(JobLock& lock, Stage to, std::string_view why) const;
  /// Commits MOVE, then logs and reports the jobs that have moved.
  std::vector<JointMove::Member> move(JointMove& move) const;
  void wake(Trigger trigger) const { pull(directories.base() / "ctrl", trigger); }
  void log(const Error& error) const;

 private:
  void record_move(const Job& job, Stage from, Stage to) const;
};

class QueueWorker {
 public:
  virtual ~QueueWorker() = default;
  /// Called once, when the daemon starts to serve the queue.
  virtual Result<void> begin() { return {}; }
  /// Does the pending work. After an error, the remaining work is done at the next scan.
  virtual Result<void> run(Scan scan) = 0;
  /// Returns the descriptors to poll in addition to the trigger.
  virtual std::vector<int> descriptors() const { return {}; }
  /// Returns the time at which run() has to be called even without a trigger, or nullopt.
  virtual std::optional<base::UnixMillis> next_time() const { return std::nullopt; }
  /// Returns whether no work is in progress.
  virtual bool is_idle() const { return true; }
  /// Called when the daemon is about to exit. Afterwards, run() must not start new jobs.
  virtual void finish() {}
  /// Called when the daemon has to exit within seconds. Interrupts work that is in progress.
  virtual void interrupt() {}
  /// Called in a child: closes all files of the daemon.
  virtual void leave_daemon() {}
};

}  // namespace quarry::changes
