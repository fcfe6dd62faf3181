// Jobs that move at the same time. Each step is taken for all of them before the next: the files are
// written, they are synced in one go, each goes where it is to go. So a disk syncs once for many;
// every job file is still on it before anything refers to it, and a job is in one folder at every
// moment.
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
  /// What has become of one.
  struct Member {
    JobLock lock;
    Stage from;
    base::Result<void> outcome;  // an error: it is where it was, or where it was to go
  };
  /// No more at once: each has two files open.
  static constexpr std::size_t kMost = 16;

  explicit JointMove(Directories& directories) : directories_(directories) {}

  /// HOLD is to go TO, with a line of history. Until commit() it lies where it was, as it was.
  /// Errors: those of files; it is let go of.
  base::Result<void> add(JobLock lock, Stage to, base::UnixMillis now, std::string_view why);
  std::size_t size() const { return all_.size(); }
  /// The one that was added last, as it will be.
  const Job& last() const { return all_.back().lock.job; }
  /// Moves all of them, in the order in which they came. The folders are for Directories::settle().
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
