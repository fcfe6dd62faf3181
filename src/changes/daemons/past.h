// What is over in a queue and old enough to be forgotten, and who of it is still needed: pure.
//
// Kept is what is not old; what somebody who is not over depends on, directly or through others; and
// what landed on something that is kept, since a rollback of that would have to take it back as
// well. Of the rest, what landed goes before what landed on it, for the same reason: at no moment is
// something there of which it is not known any more who depends on it.
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
  /// All that is over comes first: what it is (its files are of no interest), and whether it is old.
  void add(const ModelJob& known, bool is_old);
  /// All that is over has come.
  void complete();
  /// Somebody who is not over depends on ID.
  void need(const ChangeSetId& id);
  /// Up to MOST of those that may go now, in any order and together. Each is named once.
  std::vector<JobLocation> next(std::size_t most);
  /// ID has gone, and will not come back: what landed on it may go.
  void gone(const ChangeSetId& id);

 private:
  struct Node {
    JobLocation place;
    bool has_landed = false;
    base::UnixMillis landed_at;
    bool is_old = false;
    bool is_kept = false;                        // so is what landed on it
    bool is_needed = false;                      // so is what it depends on
    std::size_t ahead = 0;                       // how many are still there that it landed on
    std::vector<ChangeSetId> names, precursors;  // until complete()
    std::vector<Node*> dependencies;
    std::vector<Node*> followers;  // that landed on it
  };
  void tie(Node& node);
  void keep(std::vector<Node*> left);

  std::unordered_map<ChangeSetId, std::unique_ptr<Node>> nodes_;
  std::deque<Node*> free_;  // nothing is there any more that they landed on
};

}  // namespace quarry::changes
