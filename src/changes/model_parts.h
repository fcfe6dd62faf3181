// Internal types of the model.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "quarry/changes/model.h"

namespace quarry::changes {

/// Position of a job in the order: right before the most urgent job that depends on it.
struct Rank {
  MoveType type = MoveType::kDevelopment;
  std::string tai;
  ChangeSetId
      lender;  // the job whose move type and time these are: itself, or one that depends on it
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
  ModelNode* granted = nullptr;  // the first waiting job, if none is running
};

struct ModelNode {
  ChangeSetId id;
  bool is_known = false;  // false: only a reference in another job
  ModelJob known;
  Rank rank;
  std::vector<ModelNode*> dependencies;
  std::vector<ModelNode*> dependents;
  std::vector<ModelNode*> followers;  // jobs that have this one as a precursor
  std::vector<ModelLane*> lanes;      // that it waits or runs in
  std::size_t granted = 0;            // number of lanes in which it is next
  std::size_t open = 0;               // number of dependencies that have not landed
  bool is_active = false;
  bool is_touched = false;
  bool is_placed = false;  // entered in the sets and lanes where it belongs
  char last_standing = 0;  // standing() when its dependents were last evaluated
  std::string circle;      // why it depends on itself: the dependency that closes the circle

  bool is_rollback() const { return known.name.type == MoveType::kRollback; }
  bool is_waiting() const {
    return is_known && (known.stage == Stage::kQueue || known.stage == Stage::kStaging ||
                        known.stage == Stage::kPending);
  }
  bool is_running() const { return is_known && known.stage == Stage::kRun; }
  bool has_landed() const {
    return is_known && known.stage == Stage::kDone && !known.is_rolled_back;
  }
  /// Whether it may still land.
  bool is_open() const { return is_known && !is_over(known.stage); }
  /// Its state as far as its dependents are concerned: one letter for each case that they
  /// distinguish.
  char standing() const {
    if (!is_known) return '?';
    if (is_active) return 'a';
    if (is_running()) return 'r';
    if (is_open()) return 'p';
    return has_landed() ? 'l' : 'f';
  }
};

/// Why NODE can never go; empty if it can.
std::string doom_of(const ModelNode& node);

}  // namespace quarry::changes
