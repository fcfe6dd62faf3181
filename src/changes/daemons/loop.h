// The life of a daemon: waits for triggers, children, signals and its time, and has each queue's
// work done.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/triggers.h"
#include "work.h"

namespace quarry::changes {

/// A queue that no other daemon of this kind serves: the lock of its pid file, which goes with it.
class PidFile {
 public:
  /// Errors: kBusy: another one has it.
  static base::Result<PidFile> take(const Directories& directories, Trigger kind);
  PidFile(PidFile&&) = default;
  PidFile& operator=(PidFile&&) = default;
  ~PidFile();
  /// In a child: lets go of it without removing it.
  void let_go() { file_.reset(); }

 private:
  PidFile(std::filesystem::path path, std::unique_ptr<base::File> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  std::unique_ptr<base::File> file_;
};

/// A queue, and what is done there.
struct Post {
  const QueueOptions& options;
  std::unique_ptr<Directories> directories;
  PidFile pid_file;
  base::Fd fifo;
  std::unique_ptr<Work> work;
};

class Loop {
 public:
  Loop(const DaemonOptions& options, Trigger kind) : options_(options), kind_(kind) {}

  /// Takes all queues. Errors: kBusy; those of files.
  base::Result<void> open();
  std::vector<Post>& posts() { return posts_; }
  Desk desk_of(Post& post) const;
  /// Until a signal, or until there is nothing to do.
  base::Result<void> run();
  /// In a child: lets go of what is the daemon's alone.
  void let_go();

 private:
  base::Result<void> begin();
  void work(bool is_time);
  int wait();
  bool is_idle() const;
  std::optional<base::UnixMillis> next_time() const;

  const DaemonOptions& options_;
  Trigger kind_;
  base::Fd signals_;
  std::vector<Post> posts_;
  std::vector<bool> is_woken_;
  base::UnixMillis next_scan_;
  bool is_finishing_ = false;
};

}  // namespace quarry::changes
