// Decides which finished jobs of a queue are old and no longer needed. Pure.
//
// A job is kept if it is not old; if an unfinished job depends on it, directly or indirectly; or
// if it landed on a job that is kept, since a rollback of that one has to take it back too. The
// others may be deleted, but none before the jobs that it landed on: otherwise a rollback of one
// of these could miss it.
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
  /// Adds a finished job (its files do not matter). All of them are added first.
  void add(const ModelJob& known, bool is_old);
  /// Call when all finished jobs have been added.
  void complete();
  /// An unfinished job depends on ID.
  void need(const ChangeSetId& id);
  /// Up to LIMIT jobs that may be deleted now, in any order. Each is returned once.
  std::vector<JobLocation> next(std::size_t limit);
  /// ID has been deleted for good; jobs that landed on it may be next.
  void gone(const ChangeSetId& id);

 private:
  struct Node {
    JobLocation location;
    bool has_landed = false;
    base::UnixMillis landed_at;
    bool is_old = false;
    bool is_kept = false;                        // and so is every job that landed on it
    bool is_needed = false;                      // and so are its dependencies
    std::size_t ahead = 0;                       // number of remaining jobs that it landed on
    std::vector<ChangeSetId> names, precursors;  // empty after complete()
    std::vector<Node*> dependencies;
    std::vector<Node*> followers;  // jobs that landed on it
  };
  void tie(Node& node);
  void keep(std::vector<Node*> left);

  std::unordered_map<ChangeSetId, std::unique_ptr<Node>> nodes_;
  std::deque<Node*> free_;  // the jobs that they landed on are deleted
};

}  // namespace quarry::changes
