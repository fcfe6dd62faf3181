// Moves several jobs together. Each step is done for all jobs before the next step begins: the
// files are written, then flushed to disk together, then renamed. Therefore, many jobs need only
// one flush. Every file is still durable before it is renamed, and every job is in exactly one
// folder at any time.
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
    /// After an error, the job is either in its old folder or in the new one.
    Result<void> outcome;
  };
  /// Maximum number of jobs that move together. Each job needs two open files.
  static constexpr std::size_t kMax = 16;

  explicit JointMove(Directories& directories) : directories_(directories) {}

  /// Adds the job of LOCK to the jobs that commit() moves. commit() will move this job to TO and
  /// add a line to its history. Until then, the job file does not change. Passes on errors from
  /// file operations. After an error, the lock is released.
  Result<void> add(JobLock lock, Stage to, base::UnixMillis now, std::string_view why);
  std::size_t size() const { return all_.size(); }
  /// Returns the job that was added last, with the changes that commit() will write.
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
