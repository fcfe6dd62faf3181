// The life of a daemon: waits for triggers, children, signals and its time, and has each queue's
// work done. Queues may come and go meanwhile: one that comes is taken when it is seen, one that goes
// ends what it has in hand, and the others notice nothing.
#pragma once

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

/// A queue that no other daemon of this kind serves: the lock of its pid file, which goes with it.
class PidFile {
 public:
  /// Errors: kBusy: another one has it.
  static base::Result<PidFile> take(const Directories& directories, Trigger kind);
  PidFile(PidFile&&) = default;
  PidFile& operator=(PidFile&&) = default;
  ~PidFile();
  /// Whether it is still there: its folder may have been removed, and another be in its place.
  bool is_there() const { return file_ && file_->has_name().value_or(false); }
  /// In a child: lets go of it without removing it.
  void let_go() { file_.reset(); }

 private:
  PidFile(std::filesystem::path path, std::unique_ptr<base::File> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  std::unique_ptr<base::File> file_;
};

/// A queue, and what is done there.
struct ManagedQueue {
  QueueOptions options;
  std::unique_ptr<Directories> directories;
  PidFile pid_file;
  base::Fd fifo;
  std::unique_ptr<Checker> checker;  // of the prequeue daemon
  std::unique_ptr<QueueWorker> worker;
  bool is_woken = true;
  int missed = 0;                        // looks in a row at which its queue was not there
  std::optional<base::UnixMillis> last;  // its queue is gone: when patience with it ends
};

class Loop {
 public:
  /// Gives a post its work, where it will stay.
  using MakeWorker = std::function<void(ManagedQueue& managed)>;

  Loop(const DaemonOptions& options, Trigger kind, MakeWorker make_worker)
      : options_(options), kind_(kind), make_worker_(std::move(make_worker)) {}

  DaemonContext context_of(ManagedQueue& managed) const;
  /// Until a signal, or until there is nothing to do. Errors: kBusy; those of files at the start.
  base::Result<void> run();
  /// In a child: lets go of what is the daemon's alone.
  void let_go();

 private:
  base::Result<void> begin();
  base::Result<void> take(const QueueOptions& queue);
  void look_for_queues();
  void finish_missing(const std::vector<QueueOptions>& queues);
  void take_new(const std::vector<QueueOptions>& queues);
  void finish(ManagedQueue& managed);
  void remove_finished();
  void work(bool is_time);
  int wait();
  bool is_idle() const;
  std::optional<base::UnixMillis> next_time() const;

  const DaemonOptions& options_;
  Trigger kind_;
  MakeWorker make_worker_;
  base::Fd signals_;
  std::vector<std::unique_ptr<ManagedQueue>> queues_;
  std::map<std::filesystem::path, std::string> troubles_;  // of queues that could not be taken
  base::UnixMillis next_scan_;
  base::UnixMillis next_look_;
  int blind_looks_ = 0;  // in a row
  bool is_finishing_ = false;
};

}  // namespace quarry::changes
