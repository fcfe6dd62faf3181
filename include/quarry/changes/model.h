// Decides which jobs of a queue can run. The decisions depend only on data about the jobs, not on
// files or a clock. The daemons and `quarry queue` build the model from the job files.
//
// Order: Jobs are ordered by move type (RB, EM, BF, DC), then by time. Therefore, a job is never
// overtaken by a later job of the same move type that touches the same files. A job comes before
// the jobs that depend on it. Therefore, the dependencies of an emergency have the same rank as the
// emergency.
//
// Lanes: A lane is a file on a branch. Jobs that touch the file wait in its lane, in order. A job
// can run if it is the first in all its lanes, no job is running in these lanes, and all its
// dependencies have landed. If no job is passive, the first job in the order can therefore always
// run after the running jobs have finished, so a deadlock is impossible.
//
// A passive job cannot run now, but keeps its position, and later jobs in its lanes wait for it. A
// job is passive if it is held, lacks an approval, is for a frozen branch, has an unreadable file,
// or depends on a passive job. A job of a more urgent move type overtakes waiting jobs, but not
// running jobs. An overtaken change set is later merged with the changes of the one that overtook
// it (base_finder.h).
//
// Rollbacks do not have lanes: while a rollback runs, no other job is executed.
#pragma once

#include <cstddef>
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

/// The reasons why a job waits: it has not been checked yet, or its file cannot be read.
inline constexpr std::string_view kNotChecked = "it is waiting to be checked";
inline constexpr std::string_view kUnreadable = "its job file cannot be read: see the server's log";

/// The data about a job that the model needs.
struct ModelJob {
  ChangeSetName name;
  Stage stage = Stage::kPrequeue;
  std::string branch;
  std::vector<std::string> files;
  std::vector<ChangeSetId> dependencies;  // for a rollback: the change sets to roll back
  bool is_approved = true;                // also true if it does not need an approval
  std::string held;                       // the user who holds the job, and the reason
  bool is_rolled_back = false;
  bool is_unreadable = false;  // only its name is known, because its file cannot be read
  bool goes_alone = false;     // the job must run alone, because an execution has failed
  base::UnixMillis deferred_at;
  base::UnixMillis not_before;  // end of a deferral
  std::string deferral_reason;
  base::UnixMillis landed_at;  // set if the job is in done/

  /// Returns whether the job is deferred at NOW. Ignores a deferral that began after NOW, because
  /// the clock must have been set back.
  bool is_deferred(base::UnixMillis now) const { return deferred_at <= now && now < not_before; }
};

/// A job that is executed directly before the more urgent job BY, because BY depends on it.
struct RaisedJob {
  ChangeSetId id;
  ChangeSetName by;
  friend bool operator==(const RaisedJob&, const RaisedJob&) = default;
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
  /// Returns the move type of ID, which must be in the model, or of the most urgent waiting job that
  /// depends on ID.
  MoveType urgency(const ChangeSetId& id) const;
  /// Returns all waiting jobs (in queue/, staging/ and pending/), in order.
  std::vector<ChangeSetId> in_order() const;

  /// Returns the jobs that can run now, in order. The jobs can be in queue/, staging/ or pending/.
  std::vector<ChangeSetId> ready(base::UnixMillis now) const;
  bool is_ready(const ChangeSetId& id, base::UnixMillis now) const;
  /// Returns at most MAX_COUNT jobs, in order, that wait only for running jobs and for earlier jobs
  /// in the returned list. The list includes deferred jobs that are already in pending/, because
  /// these jobs start without another move when they are due. Omits jobs that are less urgent than
  /// LEAST_URGENT, unless a job that is urgent enough depends on them.
  std::vector<ChangeSetId> in_line(base::UnixMillis now, std::size_t max_count,
                                   MoveType least_urgent = MoveType::kDevelopment) const;
  /// Returns whether ID waits only for running jobs in BATCH.
  bool may_follow(const ChangeSetId& id, const std::set<ChangeSetId>& batch,
                  base::UnixMillis now) const;
  /// Returns the end of the next deferral, or nullopt if no job is deferred.
  std::optional<base::UnixMillis> next_time(base::UnixMillis now) const;
  /// Returns the jobs that can never run, each with the reason.
  std::vector<std::pair<ChangeSetId, std::string>> doomed() const;
  /// Returns a sentence that says what the job waits for, or an empty string if it can run.
  std::string why_not(const ChangeSetId& id, base::UnixMillis now) const;
  /// Returns the waiting jobs that do not run even if all running jobs finish, each with the
  /// reason: they can never run, are passive or deferred, or wait for such a job, directly or
  /// indirectly.
  std::unordered_map<ChangeSetId, std::string> stopped(base::UnixMillis now) const;

  /// Returns the precursors of the job. For each of its files, the precursor is the job directly
  /// before it in the lane, or the running job.
  std::vector<ChangeSetId> precursors_of(const ChangeSetId& id) const;
  /// Returns at most MAX_COUNT jobs, in order, that overtake other jobs because a more urgent
  /// waiting job depends on them.
  std::vector<RaisedJob> raised(std::size_t max_count) const;
  /// Returns the ids of change sets to which jobs refer, but which are not in the model.
  std::vector<ChangeSetId> unknown() const;

  /// Returns the change sets that a rollback of PRIMARY rolls back. The set contains PRIMARY, and
  /// all unfinished or landed change sets that depend on a member of the set. For each landed
  /// member, it also contains the change sets that landed later and touched one of the member's
  /// files on the same branch. The landed change sets come first, in order of landing. Errors:
  /// kNotFound (one of PRIMARY is unknown, has failed or was rolled back before), kLimit (more than
  /// LIMIT), kConflict (they landed on several branches). With WILL_LAND, assumes that the running
  /// change sets land before the rollback.
  Result<std::vector<ChangeSetId>> closure(const std::vector<ChangeSetId>& primary,
                                           std::size_t limit, bool will_land = false) const;

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
  std::string why_stopped(const ModelNode& node, base::UnixMillis now) const;
  const ModelNode* rollback_before(const ModelNode& node, base::UnixMillis now) const;

  std::unordered_map<ChangeSetId, std::unique_ptr<ModelNode>> nodes_;
  std::map<LaneKey, std::unique_ptr<ModelLane>> lanes_;
  NodesInOrder waiting_;
  NodesInOrder ready_;
  NodesInOrder doomed_;
  std::set<const ModelNode*> running_rollbacks_;
  std::set<std::string, std::less<>> frozen_;
  std::deque<ModelNode*> touched_;
};

}  // namespace quarry::changes
