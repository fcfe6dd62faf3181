// What the model is made of.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "quarry/changes/model.h"

namespace quarry::changes {

/// The place of a job in the order: that of the most urgent job that needs it, and before that one.
struct Rank {
  MoveType type = MoveType::kDevelopment;
  std::string tai;
  ChangeSetId lender;       // whose move type and time these are: itself, or one that depends on it
  std::uint32_t depth = 0;  // steps from there

  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.type, a.tai, a.lender, b.depth) < std::tie(b.type, b.tai, b.lender, a.depth);
  }
  friend bool operator==(const Rank&, const Rank&) = default;
};

struct ModelLane {
  LaneKey key;
  NodesInOrder waiting;
  std::set<ModelNode*> running;
  ModelNode* granted = nullptr;  // the first of those that wait, where nothing runs
};

struct ModelNode {
  ChangeSetId id;
  bool is_known = false;  // otherwise others name it, and no more
  ModelJob known;
  Rank rank;
  std::vector<ModelNode*> dependencies;
  std::vector<ModelNode*> dependents;
  std::vector<ModelNode*> followers;  // those whose precursor it was
  std::vector<ModelLane*> lanes;      // that it stands or runs in
  std::size_t granted = 0;            // in how many of them it may go
  std::size_t open = 0;               // how many of its dependencies have not landed
  bool is_active = false;
  bool is_touched = false;
  bool is_placed = false;  // it is in the sets and lanes where it belongs
  char last_standing = 0;  // what those that depend on it know of it: standing()
  std::string circle;      // it depends on itself, by way of this one

  bool is_rollback() const { return known.name.type == MoveType::kRollback; }
  bool is_waiting() const {
    return is_known && (known.stage == Stage::kQueue || known.stage == Stage::kStaging ||
                        known.stage == Stage::kPending);
  }
  bool is_running() const { return is_known && known.stage == Stage::kRun; }
  bool has_landed() const {
    return is_known && known.stage == Stage::kDone && !known.is_taken_back;
  }
  /// It may still land.
  bool is_open() const { return is_known && !is_over(known.stage); }
  /// What it is to those that depend on it: a letter for each difference that matters to them.
  char standing() const {
    if (!is_known) return '?';
    if (is_active) return 'a';
    if (is_running()) return 'r';
    if (is_open()) return 'p';
    return has_landed() ? 'l' : 'f';
  }
};

/// Why NODE can never go; empty: it can.
std::string doom_of(const ModelNode& node);

}  // namespace quarry::changes
