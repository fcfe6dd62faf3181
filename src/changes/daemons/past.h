// Decides which finished jobs of a queue are old and no longer needed. Uses neither files nor a
// clock.
//
// A job is kept if it is not old, if an unfinished job depends on it directly or indirectly, or if
// it landed on a job that is kept, since a rollback of that job has to roll back this one too. The
// other jobs may be deleted, but each only after the jobs that it landed on: otherwise a rollback
// of one of those could miss it.
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
  /// Adds a finished job. Its list of files is not used. All finished jobs must be added first.
  void add(const ModelJob& known, bool is_old);
  /// Call when all finished jobs have been added.
  void complete();
  /// Records that an unfinished job depends on ID.
  void need(const ChangeSetId& id);
  /// At most LIMIT jobs that may be deleted now, in any order. Each job is returned only once.
  std::vector<JobLocation> next(std::size_t limit);
  /// Records that ID has been deleted permanently. Jobs that landed on it may be next.
  void gone(const ChangeSetId& id);

 private:
  struct Node {
    JobLocation location;
    bool has_landed = false;
    base::UnixMillis landed_at;
    bool is_old = false;
    bool is_kept = false;                        // every job that landed on it is kept too
    bool is_needed = false;                      // its dependencies are needed too
    std::size_t ahead = 0;                       // number of remaining jobs that it landed on
    std::vector<ChangeSetId> names, precursors;  // empty after complete()
    std::vector<Node*> dependencies;
    std::vector<Node*> followers;  // jobs that landed on it
  };
  void tie(Node& node);
  void keep(std::vector<Node*> left);

  std::unordered_map<ChangeSetId, std::unique_ptr<Node>> nodes_;
  std::deque<Node*> free_;  // jobs that may be deleted: all jobs that they landed on are deleted
};

}  // namespace quarry::changes
