// Decides which finished jobs of a queue are old and no longer needed. Does not use files or a
// clock.
//
// A job is kept if it is not old, or if an unfinished job depends on it directly or indirectly. It
// is also kept if it landed on a job A that is kept, because a rollback of A has to roll back this
// job too. All other jobs can be deleted. If a job landed on A, A is deleted first, because
// otherwise a rollback of A would not find the job.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "quarry/changes/directories.h"
#include "quarry/changes/model.h"

namespace quarry::changes {

class Past {
 public:
  /// Adds a finished job. The list of files in KNOWN is not used. All finished jobs have to be
  /// added before any other function is called.
  void add(const ModelJob& known, bool is_old);
  /// Call after all finished jobs have been added.
  void complete();
  /// Records that an unfinished job depends on ID.
  void need(const ChangeSetId& id);
  /// Returns at most LIMIT jobs that can be deleted now, in any order. Each job is returned only
  /// once.
  std::vector<JobLocation> next(std::size_t limit);
  /// Records that the deletion of ID is durable. Jobs that landed on ID can then be deleted.
  void gone(const ChangeSetId& id);

 private:
  struct Node {
    JobLocation location;
    bool has_landed = false;
    base::UnixMillis landed_at;
    bool is_old = false;
    bool is_kept = false;                        // if set, its followers are also kept
    bool is_needed = false;                      // if set, its dependencies are also needed
    std::size_t ahead = 0;                       // number of existing jobs that it landed on
    std::vector<ChangeSetId> names, precursors;  // empty after complete()
    std::vector<Node*> dependencies;
    std::vector<Node*> followers;  // jobs that landed on it
  };
  void tie(Node& node);
  void keep(std::vector<Node*> left);

  std::unordered_map<ChangeSetId, std::unique_ptr<Node>> nodes_;
  std::deque<Node*> free_;  // jobs that can be deleted now
};

}  // namespace quarry::changes
