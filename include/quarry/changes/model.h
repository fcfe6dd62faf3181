// Decides what a queue does next, only from facts about its jobs, without files or a clock. The
// daemons and `quarry queue` build the model from the job files, which are authoritative.
//
// Order. Jobs are ordered by move type (RB, EM, BF, DC), then by time. So within a move type, a job
// is never overtaken by a younger one that touches the same files. A job comes before the jobs that
// depend on it; therefore the dependencies of an emergency have the same rank as the emergency.
//
// Lanes. A lane is a file on a branch; the jobs that touch the file queue in it, in order. A job
// may go when it is the first in all its lanes, no job is running in any of them, and all its
// dependencies have landed. So the first job in the order can always go eventually, and a deadlock
// is impossible.
//
// Passive jobs are in no lane, so other jobs overtake them. A job is passive if it is held, lacks
// an approval, is for a frozen branch, or depends on a passive job. A higher move type overtakes
// waiting jobs but never running ones.
//
// Rollbacks have no lanes: no other job is executed while a rollback runs.
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

/// What the model knows about a job.
struct ModelJob {
  ChangeSetName name;
  Stage stage = Stage::kPrequeue;
  std::string branch;
  std::vector<std::string> files;
  std::vector<ChangeSetId> dependencies;  // for a rollback: the change sets to roll back
  std::vector<ChangeSetId> precursors;
  bool is_approved = true;  // also true if it does not need an approval
  std::string held;         // the user who holds the job, and the reason
  bool is_rolled_back = false;
  bool goes_alone = false;  // an execution has failed, so it may not be in a batch with others
  base::UnixMillis deferred_at;
  base::UnixMillis not_before;  // end of a deferral
  base::UnixMillis landed_at;   // set if the job is in done/

  /// A deferral that began in the future is ignored, because the clock has been set back since.
  bool is_deferred(base::UnixMillis now) const { return deferred_at <= now && now < not_before; }
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

  /// Adds or replaces a job. For a job in prequeue/, only the name is known.
  void put(ModelJob known);
  void erase(const ChangeSetId& id);
  /// Replaces the set of frozen branches. Jobs for these branches become passive.
  void set_frozen(std::set<std::string, std::less<>> branches);

  const ModelJob* find(const ChangeSetId& id) const;
  /// The jobs in queue/, staging/ and pending/, in order.
  std::vector<ChangeSetId> in_order() const;

  /// Jobs that may go now, in order. They may be in any folder of waiting jobs.
  std::vector<ChangeSetId> ready(base::UnixMillis now) const;
  bool is_ready(const ChangeSetId& id, base::UnixMillis now) const;
  /// At most MAX_COUNT jobs that wait only for running jobs and for jobs in this list that precede
  /// them in their lanes; in order.
  std::vector<ChangeSetId> in_line(base::UnixMillis now, std::size_t max_count) const;
  /// Whether ID would be ready if the running jobs in BATCH had finished.
  bool may_follow(const ChangeSetId& id, const std::set<ChangeSetId>& batch,
                  base::UnixMillis now) const;
  /// The time at which the next deferred job may go; nullopt if no job is deferred.
  std::optional<base::UnixMillis> next_time(base::UnixMillis now) const;
  /// Jobs that can never go, with the reason.
  std::vector<std::pair<ChangeSetId, std::string>> doomed() const;
  /// What the job waits for, as a sentence; empty if it may go.
  std::string why_not(const ChangeSetId& id, base::UnixMillis now) const;

  /// For each file of the job: the job directly before it in the lane, or the running one. These
  /// are its precursors.
  std::vector<ChangeSetId> precursors_of(const ChangeSetId& id) const;
  /// Ids to which jobs refer, but which are not in the model.
  std::vector<ChangeSetId> unknown() const;

  /// The change sets that a rollback of PRIMARY rolls back: PRIMARY; all change sets that depend on
  /// one of these and are unfinished or have landed; and all that landed after one of these, their
  /// precursor, with the same files. They are in order of landing, followed by those that have not
  /// landed. Errors: kNotFound (one of PRIMARY is unknown, has failed or was rolled back before),
  /// kLimit (more than LIMIT).
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
