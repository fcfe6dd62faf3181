// Main loop of a daemon: waits for triggers, children, signals and timers, and runs the worker of
// each queue. Queues can be added and removed at any time. A new queue is served after it has been
// found. A missing queue finishes its running jobs. Other queues are not affected.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/triggers.h"
#include "queue_worker.h"

namespace quarry::changes {

/// The locked pid file of a queue. The lock ensures that the queue has only one daemon of each
/// kind. The destructor removes the file.
class PidFile {
 public:
  /// Creates and locks the pid file. Errors: kBusy (another process holds the lock), errors from
  /// file operations.
  static Result<PidFile> take(const Directories& directories, Trigger kind);
  PidFile(PidFile&&) = default;
  PidFile& operator=(PidFile&&) = default;
  ~PidFile() { remove(); }
  /// Returns whether the file still exists.
  bool is_there() const { return file_ && file_->has_name().value_or(false); }
  /// Removes the file, so that another daemon can serve the queue.
  void remove();
  /// Called in a child: releases the file without removing it.
  void release() { file_.reset(); }

 private:
  PidFile(std::filesystem::path path, std::unique_ptr<base::File> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  std::unique_ptr<base::File> file_;
};

/// A queue served by this daemon.
struct ManagedQueue {
  QueueOptions options;
  std::unique_ptr<Directories> directories;
  PidFile pid_file;
  base::Fd fifo;
  std::unique_ptr<Checker> checker;  // only in the prequeue daemon
  std::unique_ptr<QueueWorker> worker;
  bool is_woken = true;
  int missed = 0;                        // consecutive searches that did not find the queue
  std::optional<base::UnixMillis> last;  // deadline for the running jobs of a missing queue
};

class Loop {
 public:
  /// Sets the worker of MANAGED. The worker can refer to MANAGED, whose address does not change.
  using MakeWorker = std::function<void(ManagedQueue& managed)>;

  Loop(const DaemonOptions& options, Trigger kind, MakeWorker make_worker)
      : options_(options), kind_(kind), make_worker_(std::move(make_worker)) {}

  DaemonContext context_of(ManagedQueue& managed) const;
  /// Runs until a signal arrives, or until no work is left. Errors: kBusy, errors from file
  /// operations at the start.
  Result<void> run();
  /// Called in a child: closes all files of the daemon.
  void leave_daemon();

 private:
  Result<void> begin();
  Result<void> take(const QueueOptions& queue);
  void search_for_queues();
  void finish_missing(const std::vector<QueueOptions>& queues);
  void take_new(const std::vector<QueueOptions>& queues);
  void finish(ManagedQueue& managed);
  void remove_finished();
  void work(bool is_time);
  int wait();
  std::optional<std::chrono::milliseconds> stop(int signal);
  bool is_idle() const;
  std::optional<base::UnixMillis> next_time() const;

  const DaemonOptions& options_;
  Trigger kind_;
  MakeWorker make_worker_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  base::Fd signals_;
  std::vector<std::unique_ptr<ManagedQueue>> queues_;
  std::map<std::filesystem::path, std::string>
      errors_;  // last error of each queue that could not be opened
  base::UnixMillis next_scan_;
  base::UnixMillis next_search_;
  int failed_searches_ = 0;  // consecutive searches that failed
  bool is_finishing_ = false;
};

}  // namespace quarry::changes
