// Decides which finished jobs of a queue are old and no longer needed. Does not use files or a
// clock.
//
// A job is kept if it is not old, or if an unfinished job depends on it directly or indirectly. If
// a job A is kept, its followers are also kept, because a rollback of A has to roll them back too.
// A follower of A is a landed job that depends on A, or that landed after A and touched the same
// file of the same branch. All other jobs can be deleted. A is deleted before its followers,
// because otherwise a rollback of A would not find them.
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
  /// Adds a finished job. All finished jobs have to be added before any other function is called.
  void add(const ModelJob& known, bool is_old);
  /// Call after all finished jobs have been added.
  void complete();
  /// Records that an unfinished job depends on ID.
  void need(const ChangeSetId& id);
  /// Returns at most LIMIT jobs that can be deleted now, in any order. Each job is returned only
  /// once.
  std::vector<JobLocation> next(std::size_t limit);
  /// Records that the deletion of ID is durable. Jobs that a rollback of ID would have rolled back
  /// can then be deleted.
  void gone(const ChangeSetId& id);

 private:
  struct Node {
    JobLocation location;
    bool has_landed = false;
    base::UnixMillis landed_at;
    bool is_old = false;
    bool is_kept = false;            // if set, its followers are also kept
    bool is_needed = false;          // if set, its dependencies are also needed
    std::size_t ahead = 0;           // number of existing jobs that it follows
    std::vector<ChangeSetId> names;  // ids of its dependencies; empty after complete()
    std::vector<Node*> dependencies;
    std::vector<Node*> followers;  // jobs that a rollback of this job rolls back
  };
  struct Landing {
    std::size_t lane;  // hash of the branch and the file
    Node* node;
  };
  static auto landing_order(const Node& node);
  static void follow(Node& node, Node& other);
  void tie(Node& node);
  void tie_landings();
  void keep(std::vector<Node*> left);

  std::unordered_map<ChangeSetId, std::unique_ptr<Node>> nodes_;
  std::vector<Landing> landings_;  // empty after complete()
  std::deque<Node*> free_;         // jobs that can be deleted now
};

}  // namespace quarry::changes
