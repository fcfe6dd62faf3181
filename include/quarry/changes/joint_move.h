// Moves several jobs together. Each step is taken for all of them before the next: the files are
// written, they are synced in one go, each is renamed. So the disk syncs once for many jobs; every
// job file is still on disk before anything refers to it, and a job is in exactly one folder at
// any time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/job.h"

namespace quarry::changes {

class JointMove {
 public:
  /// The outcome for one job.
  struct Member {
    JobLock lock;
    Stage from;
    base::Result<void> outcome;  // after an error the job is where it was or where it was to go
  };
  /// Limit on jobs that move together: each has two files open.
  static constexpr std::size_t kMax = 16;

  explicit JointMove(Directories& directories) : directories_(directories) {}

  /// Adds the job of LOCK, to be moved to TO, with a line of history. Its file does not change
  /// until commit(). Errors: those of file operations; the lock is released.
  base::Result<void> add(JobLock lock, Stage to, base::UnixMillis now, std::string_view why);
  std::size_t size() const { return all_.size(); }
  /// The job that was added last, as it will be written.
  const Job& last() const { return all_.back().lock.job; }
  /// Moves all jobs, in the order in which they were added. The caller syncs the folders
  /// (Directories::sync_folders()).
  std::vector<Member> commit();

 private:
  struct One {
    JobLock lock;
    Stage to;
    std::unique_ptr<base::File> file;
  };

  Directories& directories_;
  std::vector<One> all_;
};

}  // namespace quarry::changes
