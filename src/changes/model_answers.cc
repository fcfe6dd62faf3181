#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "model_parts.h"
#include "quarry/changes/model.h"

namespace quarry::changes {

namespace {

// Limit on the jobs that in_line() and raised() examine, so that these calls stay fast in a long
// queue.
constexpr std::size_t kMaxExamined = 1'000;

/// Returns a lane in which NODE has to wait for another job, or null if there is none.
const ModelLane* lane_behind(const ModelNode& node) {
  const auto found = std::ranges::find_if(
      node.lanes, [&](const ModelLane* lane) { return lane->granted != &node; });
  return found == node.lanes.end() ? nullptr : *found;
}

std::string deferral_of(const ModelNode& node) {
  const std::string& reason = node.known.deferral_reason;
  return fmt::format("it is deferred until {}{}{}", base::iso_seconds(node.known.not_before),
                     reason.empty() ? "" : ": ", reason);
}

/// Returns a sentence that says that a job has to wait for its dependency OTHER.
std::string why_dependent(const ModelNode& other) {
  return fmt::format("it depends on {} ({}), which has not landed", other.id.str(),
                     word_of(other.known.stage));
}

/// Returns a sentence that says that a job in LANE has to wait for OTHER.
std::string why_behind(const ModelLane& lane, const ModelNode& other) {
  return fmt::format("it is waiting for {} ({}), which {} and also changes {} on {}",
                     other.id.str(), word_of(other.known.name.type),
                     other.is_running() ? "is running" : "goes first", lane.key.second,
                     lane.key.first);
}

/// The landed jobs of each lane and, if WILL_LAND is true, the running jobs.
class Landings {
 public:
  Landings(const std::unordered_map<ChangeSetId, std::unique_ptr<ModelNode>>& nodes,
           bool will_land) {
    for (const auto& [id, node] : nodes) {
      if (!node->has_landed() && !(will_land && node->is_running())) continue;
      for (const std::string& file : node->known.files) {
        lanes_[Key(node->known.branch, file)].push_back(node.get());
      }
    }
  }

  /// For each lane of NODE, moves the jobs that landed after NODE to FOUND.
  void take_later(const ModelNode& node, std::vector<const ModelNode*>& found) {
    for (const std::string& file : node.known.files) {
      const auto lane = lanes_.find(Key(node.known.branch, file));
      if (lane == lanes_.end()) continue;
      const auto later = std::ranges::partition(lane->second, [&](const ModelNode* other) {
        return other->has_landed() && other->known.landed_at < node.known.landed_at;
      });
      found.insert(found.end(), later.begin(), later.end());
      lane->second.erase(later.begin(), later.end());
    }
  }

 private:
  using Key = std::pair<std::string_view, std::string_view>;  // branch, file
  std::map<Key, std::vector<const ModelNode*>> lanes_;
};

}  // namespace

MoveType Model::urgency(const ChangeSetId& id) const {
  return known_node(id)->rank.type;
}

std::vector<ChangeSetId> Model::in_order() const {
  std::vector<ChangeSetId> ids;
  ids.reserve(waiting_.size());
  for (const ModelNode* node : waiting_) ids.push_back(node->id);
  return ids;
}

std::vector<ChangeSetId> Model::ready(base::UnixMillis now) const {
  std::vector<ChangeSetId> ids;
  for (const ModelNode* node : ready_) {
    if (!node->known.is_deferred(now)) ids.push_back(node->id);
  }
  return ids;
}

bool Model::is_ready(const ChangeSetId& id, base::UnixMillis now) const {
  const auto found = nodes_.find(id);
  return found != nodes_.end() && ready_.contains(found->second.get()) &&
         !found->second->known.is_deferred(now);
}

std::vector<ChangeSetId> Model::in_line(base::UnixMillis now, std::size_t max_count,
                                        MoveType least_urgent) const {
  std::vector<ChangeSetId> ids;
  std::unordered_set<const ModelNode*> found;
  std::unordered_set<const ModelLane*> blocked;
  std::size_t left = kMaxExamined;
  for (const ModelNode* node : waiting_) {
    if (ids.size() == max_count || left-- == 0 || node->rank.type > least_urgent) break;
    if (node->is_rollback()) continue;
    const bool is_due = node->known.not_before <= now || node->known.stage == Stage::kPending;
    const bool goes =
        node->is_active && is_due &&
        std::ranges::all_of(node->dependencies,
                            [&](const ModelNode* one) {
                              return one->has_landed() || one->is_running() || found.contains(one);
                            }) &&
        std::ranges::none_of(node->lanes,
                             [&](const ModelLane* lane) { return blocked.contains(lane); });
    if (goes) {
      ids.push_back(node->id);
      found.insert(node);
    } else {
      blocked.insert(node->lanes.begin(), node->lanes.end());
    }
  }
  return ids;
}

bool Model::may_follow(const ChangeSetId& id, const std::set<ChangeSetId>& batch,
                       base::UnixMillis now) const {
  const ModelNode* node = known_node(id);
  if (!node || !node->is_placed || !node->is_active || node->open > 0 ||
      node->known.not_before > now) {
    return false;
  }
  return std::ranges::all_of(node->lanes, [&](const ModelLane* lane) {
    return *lane->waiting.begin() == node &&
           std::ranges::all_of(lane->running, [&](const ModelNode* running) {
             return batch.contains(running->id);
           });
  });
}

std::optional<base::UnixMillis> Model::next_time(base::UnixMillis now) const {
  std::optional<base::UnixMillis> next;
  for (const ModelNode* node : ready_) {
    const base::UnixMillis time = node->known.not_before;
    if (node->known.is_deferred(now) && (!next || time < *next)) next = time;
  }
  return next;
}

std::vector<std::pair<ChangeSetId, std::string>> Model::doomed() const {
  std::vector<std::pair<ChangeSetId, std::string>> found;
  for (const ModelNode* node : doomed_) found.emplace_back(node->id, doom_of(*node));
  return found;
}

std::string doom_of(const ModelNode& node) {
  if (!node.circle.empty()) {
    return fmt::format("it depends on {}, which depends on it", node.circle);
  }
  for (const ModelNode* dependency : node.dependencies) {
    const std::string_view id = dependency->id.str();
    if (!dependency->is_known) {
      return fmt::format("it depends on {}, which does not exist or has been deleted", id);
    }
    if (dependency->known.is_rolled_back) {
      return fmt::format("it depends on {}, which was rolled back", id);
    }
    if (is_over(dependency->known.stage) && !dependency->has_landed()) {
      return fmt::format("it depends on {} ({}), which did not land", id,
                         word_of(dependency->known.stage));
    }
  }
  return {};
}

/// Returns the reason why the waiting job NODE is passive, or an empty string if it is not passive.
std::string Model::why_passive(const ModelNode& node) const {
  if (node.known.is_unreadable) return std::string(kUnreadable);
  if (!node.known.held.empty()) return "it is held by " + node.known.held;
  if (!node.known.is_approved) {
    return fmt::format("it is waiting for an approval, which move type {} needs",
                       word_of(node.known.name.type));
  }
  if (frozen_.contains(node.known.branch)) {
    return fmt::format("branch {} is frozen", node.known.branch);
  }
  return {};
}

/// Returns the reason why the waiting job NODE cannot run even if no other job waits, or an empty
/// string.
std::string Model::why_stopped(const ModelNode& node, base::UnixMillis now) const {
  std::string why = doom_of(node);
  if (why.empty()) why = why_passive(node);
  return why.empty() && node.known.is_deferred(now) ? deferral_of(node) : why;
}

std::unordered_map<ChangeSetId, std::string> Model::stopped(base::UnixMillis now) const {
  std::unordered_map<const ModelNode*, const ModelNode*> causes;
  std::unordered_map<const ModelLane*, const ModelNode*> blocked;  // the first stopped job
  std::unordered_map<ChangeSetId, std::string> reasons;
  // Dependencies, and the jobs ahead in each lane, come first in the order.
  for (const ModelNode* node : waiting_) {
    std::string why = why_stopped(*node, now);
    const ModelNode* cause = node;
    if (why.empty()) {
      const ModelNode* direct = nullptr;
      const auto dependency = std::ranges::find_if(
          node->dependencies, [&](const ModelNode* one) { return causes.contains(one); });
      const auto lane = std::ranges::find_if(
          node->lanes, [&](const ModelLane* one) { return blocked.contains(one); });
      if (dependency != node->dependencies.end()) {
        direct = *dependency;
        why = why_dependent(*direct);
      } else if (lane != node->lanes.end()) {
        direct = blocked.at(*lane);
        why = why_behind(**lane, *direct);
      } else {
        continue;
      }
      cause = causes.at(direct);
      if (cause != direct) {
        why += fmt::format(": it is waiting for {} ({})", cause->id.str(),
                           word_of(cause->known.name.type));
      }
      why += ": " + why_stopped(*cause, now);
    }
    causes.emplace(node, cause);
    for (const ModelLane* lane : node->lanes) blocked.emplace(lane, node);
    reasons.emplace(node->id, std::move(why));
  }
  return reasons;
}

std::string Model::why_not(const ChangeSetId& id, base::UnixMillis now) const {
  const ModelNode* node = known_node(id);
  if (!node) return "it does not exist or has been deleted";
  if (node->known.stage == Stage::kPrequeue) {
    return std::string(node->known.is_unreadable ? kUnreadable : kNotChecked);
  }
  if (!node->is_waiting())
    return fmt::format("it is not waiting: its state is {}", word_of(node->known.stage));
  if (std::string doom = doom_of(*node); !doom.empty()) return doom;
  std::string chain;
  // Follow the chain of dependencies to the job at its end, and report what this job waits for.
  while (true) {
    if (const std::string passive = why_passive(*node); !passive.empty()) return chain + passive;
    const auto open = std::ranges::find_if(node->dependencies,
                                           [](const ModelNode* one) { return !one->has_landed(); });
    if (open == node->dependencies.end()) break;
    node = *open;
    chain += why_dependent(*node) + ": ";
    if (!node->is_waiting())
      return chain + (node->is_running() ? "it is running" : std::string(kNotChecked));
  }
  if (const ModelLane* lane = lane_behind(*node)) {
    const bool is_running = !lane->running.empty();
    const ModelNode& other = is_running ? **lane->running.begin() : **lane->waiting.begin();
    const std::string stopped = is_running ? std::string() : why_stopped(other, now);
    return chain + why_behind(*lane, other) + (stopped.empty() ? "" : ": ") + stopped;
  }
  if (node->known.is_deferred(now)) return chain + deferral_of(*node);
  if (const ModelNode* rollback = rollback_before(*node, now)) {
    return chain + fmt::format("it is waiting for rollback {}{}", rollback->id.str(),
                               rollback->is_running() ? ", which is running" : "");
  }
  return chain.empty() ? chain : chain + "it is ready";
}

/// Returns the rollback for which NODE, which can run otherwise, has to wait, or null.
const ModelNode* Model::rollback_before(const ModelNode& node, base::UnixMillis now) const {
  if (!running_rollbacks_.empty()) return *running_rollbacks_.begin();
  const auto first = std::ranges::find_if(
      ready_, [&](const ModelNode* one) { return !one->known.is_deferred(now); });
  const bool is_behind = first != ready_.end() && (*first)->is_rollback() && !node.is_rollback();
  return is_behind ? *first : nullptr;
}

std::vector<ChangeSetId> Model::precursors_of(const ChangeSetId& id) const {
  const ModelNode* node = known_node(id);
  std::set<ChangeSetId> found;
  if (!node) return {};
  for (const ModelLane* lane : node->lanes) {
    for (const ModelNode* running : lane->running) {
      if (running != node) found.insert(running->id);
    }
    const auto at = lane->waiting.find(const_cast<ModelNode*>(node));
    if (at != lane->waiting.end() && at != lane->waiting.begin())
      found.insert((*std::prev(at))->id);
    if (found.size() >= kMaxReferences) break;
  }
  std::vector<ChangeSetId> ids(found.begin(), found.end());
  if (ids.size() > kMaxReferences) ids.resize(kMaxReferences);
  return ids;
}

std::vector<RaisedJob> Model::raised(std::size_t max_count) const {
  std::vector<RaisedJob> jobs;
  std::size_t left = kMaxExamined;
  for (const ModelNode* node : waiting_) {
    if (jobs.size() == max_count || left-- == 0 || node->rank.type == MoveType::kDevelopment) break;
    if (node->rank.lender != node->id)
      jobs.push_back({node->id, known_node(node->rank.lender)->known.name});
  }
  return jobs;
}

std::vector<ChangeSetId> Model::unknown() const {
  std::vector<ChangeSetId> ids;
  for (const auto& [id, node] : nodes_) {
    if (!node->is_known && !node->dependents.empty()) ids.push_back(id);
  }
  return ids;
}

Result<std::vector<ChangeSetId>> Model::closure(const std::vector<ChangeSetId>& primary,
                                                std::size_t limit, bool will_land) const {
  std::vector<const ModelNode*> left;
  for (const ChangeSetId& id : primary) {
    const ModelNode* node = known_node(id);
    if (!node || node->is_rollback() || !(node->is_open() || node->has_landed())) {
      return fail(ErrorCode::kNotFound, "change set {} {}", id.str(),
                  !node                        ? "does not exist or has been deleted"
                  : node->is_rollback()        ? "is a rollback"
                  : node->known.is_rolled_back ? "was already rolled back"
                                               : "did not land");
    }
    left.push_back(node);
  }
  Landings landings(nodes_, will_land);
  std::unordered_set<const ModelNode*> seen;
  std::vector<const ModelNode*> all;
  while (!left.empty()) {
    const ModelNode* node = left.back();
    left.pop_back();
    if (!seen.insert(node).second) continue;
    if (all.size() == limit) {
      return fail(ErrorCode::kLimit, "more than {} change sets would have to be rolled back",
                  limit);
    }
    all.push_back(node);
    std::ranges::copy_if(node->dependents, std::back_inserter(left),
                         [](const ModelNode* one) { return one->is_open() || one->has_landed(); });
    if (node->has_landed()) landings.take_later(*node, left);
  }
  std::ranges::sort(all, [](const ModelNode* a, const ModelNode* b) {
    if (a->has_landed() != b->has_landed()) return a->has_landed();
    if (a->has_landed() && a->known.landed_at != b->known.landed_at) {
      return a->known.landed_at < b->known.landed_at;
    }
    return NodeOrder()(a, b);
  });
  for (const ModelNode* node : all) {
    if (!node->has_landed() || node->known.branch == all.front()->known.branch) continue;
    return fail(ErrorCode::kConflict,
                "{} landed on the branch {}, and {} on {}: use one rollback per branch, starting "
                "with the dependent change sets",
                all.front()->id.str(), all.front()->known.branch, node->id.str(),
                node->known.branch);
  }
  std::vector<ChangeSetId> ids;
  ids.reserve(all.size());
  for (const ModelNode* node : all) ids.push_back(node->id);
  return ids;
}

}  // namespace quarry::changes
