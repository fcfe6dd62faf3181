// What a queue is to do next, decided from what is known of its jobs, without files and without a
// clock of its own. The daemons and `quarry queue` build it from the job files, which are the truth.
//
// Order. Jobs go by move type (RB, EM, BF, DC), then by time. Time is also their aging: whoever has
// waited longest within a move type is the next, and nobody younger of the type passes him where
// they touch the same files. A job goes no later than those that depend on it, so an emergency lends
// its rank to what it needs; the order is one in which everything comes after what it depends on.
//
// Lanes. A lane is a file of a branch; in it stand the jobs that touch the file, in order. A job may
// go when it is the first in all its lanes, nothing that runs is in one of them, and all that it
// depends on has landed. So the first of the order can always go, sooner or later: there is no
// circle of waiting.
//
// Passive jobs (held, not approved where that is needed, of a frozen branch, or depending on such
// ones) stand in no lane: others pass them. A higher move type overtakes who waits, never who runs.
//
// Rollbacks have no lanes: whoever executes does nothing else meanwhile.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/changes/change_set.h"
#include "quarry/changes/job.h"

template <>
struct std::hash<quarry::changes::ChangeSetId> {
  std::size_t operator()(const quarry::changes::ChangeSetId& id) const noexcept {
    return std::hash<std::string_view>()(id.str());
  }
};

namespace quarry::changes {

/// What the model is told of a job.
struct ModelJob {
  ChangeSetName name;
  Stage stage = Stage::kPrequeue;
  std::string branch;
  std::vector<std::string> files;
  std::vector<ChangeSetId> dependencies;  // of a rollback: what it takes back
  std::vector<ChangeSetId> precursors;
  bool is_approved = true;  // or needs no approval
  std::string held;         // who holds it, and why
  bool is_taken_back = false;
  bool goes_alone = false;  // it has been executed in vain: others are not to suffer for it
  base::UnixMillis put_off_at;
  base::UnixMillis not_before;  // it was put off until then
  base::UnixMillis landed_at;   // in done/

  /// Not before it was put off, either: then the clock has been put right since.
  bool is_put_off(base::UnixMillis now) const { return put_off_at <= now && now < not_before; }
};

struct ModelNode;
struct ModelLane;
struct NodeOrder {
  bool operator()(const ModelNode* a, const ModelNode* b) const;
};
using NodesInOrder = std::set<ModelNode*, NodeOrder>;
using LaneKey = std::pair<std::string, std::string>;  // branch, file

class Model {
 public:
  Model();
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// A job, or what has become of it. Of one in prequeue/ only the name is known.
  void put(ModelJob known);
  /// It is in another folder now; all else is as it was.
  void move(const ChangeSetId& id, Stage stage);
  void erase(const ChangeSetId& id);
  /// Jobs for these branches are passive from now on, and no others for their branches' sake.
  void set_frozen(std::set<std::string, std::less<>> branches);

  const ModelJob* find(const ChangeSetId& id) const;
  std::size_t waiting() const { return waiting_.size(); }
  /// Those in queue/, staging/ and pending/, in order.
  std::vector<ChangeSetId> in_order() const;

  /// Those that may go, in order, whichever folder they wait in.
  std::vector<ChangeSetId> ready(base::UnixMillis now) const;
  bool is_ready(const ChangeSetId& id, base::UnixMillis now) const;
  /// At most MOST of those that wait for nothing but others of these ahead of them in their lanes, or
  /// for what runs; in order.
  std::vector<ChangeSetId> in_line(base::UnixMillis now, std::size_t most) const;
  /// Whether ID would be ready if those of BATCH, which run, were over.
  bool may_follow(const ChangeSetId& id, const std::set<ChangeSetId>& batch,
                  base::UnixMillis now) const;
  /// When the first of those that only their time holds back may go.
  std::optional<base::UnixMillis> next_time(base::UnixMillis now) const;
  /// Those that can never go, and why not.
  std::vector<std::pair<ChangeSetId, std::string>> doomed() const;
  /// What it waits for, as a sentence; empty: for nothing.
  std::string why_not(const ChangeSetId& id, base::UnixMillis now) const;

  /// For each of its files the job right ahead of it, or the one that runs: its ##precursors.
  std::vector<ChangeSetId> precursors_of(const ChangeSetId& id) const;
  std::vector<ChangeSetId> dependents_of(const ChangeSetId& id) const;
  /// Those of ids that nothing is known of.
  std::vector<ChangeSetId> unknown() const;

  /// All that goes if PRIMARY go: themselves; what depends on one of them and is not over, or has
  /// landed; and what landed after one that was its precursor, with the same files. In the order in
  /// which they landed, those that have not at the end, in order. Errors: kNotFound: one of PRIMARY
  /// is not known, or failed, or was taken back before; kLimit: more than LIMIT.
  base::Result<std::vector<ChangeSetId>> closure(const std::vector<ChangeSetId>& primary,
                                                 std::size_t limit) const;

 private:
  ModelNode& node_of(const ChangeSetId& id);
  const ModelNode* known_node(const ChangeSetId& id) const;
  void link(ModelNode& node);
  void unlink(ModelNode& node);
  void touch(ModelNode& node);
  void evaluate_touched();
  void evaluate(ModelNode& node);
  void enter_lanes(ModelNode& node);
  void leave_lanes(ModelNode& node);
  void grant(ModelLane& lane);
  void note(ModelNode& node);
  std::string why_passive(const ModelNode& node) const;

  std::unordered_map<ChangeSetId, std::unique_ptr<ModelNode>> nodes_;
  std::map<LaneKey, std::unique_ptr<ModelLane>> lanes_;
  NodesInOrder waiting_;
  NodesInOrder ready_;
  NodesInOrder doomed_;
  std::set<std::string, std::less<>> frozen_;
  std::deque<ModelNode*> touched_;
};

}  // namespace quarry::changes
