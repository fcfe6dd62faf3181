// Internal types of the model.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "quarry/changes/model.h"

namespace quarry::changes {

/// The position of a job in the order. A job is directly before the most urgent job that depends on
/// it.
struct Rank {
  MoveType type = MoveType::kDevelopment;
  std::string tai;
  ChangeSetId
      lender;  // the job that has this move type and time: this job, or one that depends on it
  std::uint32_t depth = 0;  // number of dependencies between the lender and this job

  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.type, a.tai, a.lender, b.depth) < std::tie(b.type, b.tai, b.lender, a.depth);
  }
  friend bool operator==(const Rank&, const Rank&) = default;
};

struct ModelLane {
  LaneKey key;
  NodesInOrder waiting;
  std::set<ModelNode*> running;
  ModelNode* granted = nullptr;  // the first waiting job, if no job is running
};

struct ModelNode {
  ChangeSetId id;
  bool is_known = false;  // false if other jobs refer to this job, but it was not added
  ModelJob known;
  Rank rank;
  std::vector<ModelNode*> dependencies;
  std::vector<ModelNode*> dependents;
  std::vector<ModelLane*> lanes;  // the lanes in which it waits or runs
  std::size_t granted = 0;        // number of lanes in which it is the next job to run
  std::size_t open = 0;           // number of dependencies that have not landed
  bool is_queued = false;         // it is waiting, and can run later
  bool is_active = false;         // it is queued and not passive
  bool is_touched = false;
  bool is_placed = false;  // it has been added to its sets and lanes
  char last_standing = 0;  // standing() when the dependents were last evaluated
  std::string circle;      // if it depends on itself: the dependency that closes the circle

  bool is_rollback() const { return known.name.type == MoveType::kRollback; }
  bool is_waiting() const {
    return is_known && (known.stage == Stage::kQueue || known.stage == Stage::kStaging ||
                        known.stage == Stage::kPending);
  }
  bool is_running() const { return is_known && known.stage == Stage::kRun; }
  bool has_landed() const {
    return is_known && known.stage == Stage::kDone && !known.is_rolled_back;
  }
  /// Returns whether the job can still land.
  bool is_open() const { return is_known && !is_over(known.stage); }
  /// Returns a letter for the state of the job. States that are equivalent for its dependents have
  /// the same letter.
  char standing() const {
    if (!is_known) return '?';
    if (is_active) return 'a';
    if (is_running()) return 'r';
    if (is_open()) return 'p';
    return has_landed() ? 'l' : 'f';
  }
};

/// Returns the reason why NODE can never run, or an empty string if it can run later.
std::string doom_of(const ModelNode& node);

}  // namespace quarry::changes
