#include "quarry/changes/model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "model_parts.h"

namespace quarry::changes {
namespace {

/// Returns whether FROM depends on TO, directly or indirectly.
bool leads_to(const ModelNode& from, const ModelNode& to) {
  std::vector<const ModelNode*> left = {&from};
  std::set<const ModelNode*> seen;
  while (!left.empty()) {
    const ModelNode* node = left.back();
    left.pop_back();
    if (node == &to) return true;
    if (!seen.insert(node).second) continue;
    left.insert(left.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return false;
}

/// Returns the rank of NODE: its own rank, or the rank of a more urgent waiting job that depends on
/// NODE. The rank of a passive job counts too. Otherwise, NODE could wait in a lane behind a job
/// that waits for NODE.
Rank rank_of(const ModelNode& node) {
  Rank rank{
      .type = node.known.name.type, .tai = node.known.name.tai, .lender = node.id, .depth = 0};
  for (const ModelNode* dependent : node.dependents) {
    if (!dependent->is_queued) continue;
    Rank lent = dependent->rank;
    ++lent.depth;
    if (lent < rank) rank = std::move(lent);
  }
  return rank;
}

}  // namespace

Model::Model() = default;
Model::~Model() = default;

bool NodeOrder::operator()(const ModelNode* a, const ModelNode* b) const {
  if (a->rank < b->rank) return true;
  if (b->rank < a->rank) return false;
  return std::tie(a->known.name.type, a->known.name.tai, a->id) <
         std::tie(b->known.name.type, b->known.name.tai, b->id);
}

ModelNode& Model::node_of(const ChangeSetId& id) {
  auto& node = nodes_[id];
  if (!node) {
    node = std::make_unique<ModelNode>();
    node->id = id;
  }
  return *node;
}

const ModelNode* Model::known_node(const ChangeSetId& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() || !found->second->is_known ? nullptr : found->second.get();
}

const ModelJob* Model::find(const ChangeSetId& id) const {
  const ModelNode* node = known_node(id);
  return node ? &node->known : nullptr;
}

void Model::put(ModelJob known) {
  ModelNode& node = node_of(known.name.id);
  unlink(node);
  node.known = std::move(known);
  node.is_known = true;
  link(node);
  touch(node);
  evaluate_touched();
}

void Model::erase(const ChangeSetId& id) {
  ModelNode& node = node_of(id);
  unlink(node);
  node.is_known = false;
  node.known = {};
  touch(node);
  evaluate_touched();
}

void Model::set_frozen(std::set<std::string, std::less<>> branches) {
  if (frozen_ == branches) return;
  frozen_ = std::move(branches);
  for (ModelNode* node : std::vector<ModelNode*>(waiting_.begin(), waiting_.end())) touch(*node);
  evaluate_touched();
}

/// Links NODE to its dependencies. Omits and records a dependency that would create a cycle.
void Model::link(ModelNode& node) {
  if (!node.is_rollback()) {
    for (const ChangeSetId& id : node.known.dependencies) {
      ModelNode& dependency = node_of(id);
      if (&dependency == &node || (!node.dependents.empty() && leads_to(dependency, node))) {
        node.circle = id.str();
        continue;
      }
      node.dependencies.push_back(&dependency);
      dependency.dependents.push_back(&node);
    }
  }
}

void Model::unlink(ModelNode& node) {
  leave_lanes(node);
  for (ModelNode* dependency : node.dependencies) {
    std::erase(dependency->dependents, &node);
    touch(*dependency);
  }
  node.dependencies.clear();
  node.circle.clear();
}

void Model::touch(ModelNode& node) {
  if (std::exchange(node.is_touched, true)) return;
  touched_.push_back(&node);
}

void Model::evaluate_touched() {
  while (!touched_.empty()) {
    ModelNode& node = *touched_.front();
    touched_.pop_front();
    node.is_touched = false;
    evaluate(node);
  }
}

/// Updates the state of NODE. If it has changed, marks the affected nodes.
void Model::evaluate(ModelNode& node) {
  node.open = static_cast<std::size_t>(std::ranges::count_if(
      node.dependencies, [](const ModelNode* one) { return !one->has_landed(); }));
  const bool is_queued = node.is_waiting() && doom_of(node).empty();
  node.is_active = is_queued && why_passive(node).empty() &&
                   std::ranges::all_of(node.dependencies, [](const ModelNode* one) {
                     return one->is_active || one->is_running() || one->has_landed();
                   });
  Rank rank = rank_of(node);
  const bool lends_other = is_queued != node.is_queued || (is_queued && rank != node.rank);
  if (!node.is_placed || is_queued != node.is_queued || rank != node.rank) {
    leave_lanes(node);
    node.is_queued = is_queued;
    node.rank = std::move(rank);
    enter_lanes(node);
  }
  note(node);
  if (std::exchange(node.last_standing, node.standing()) != node.standing()) {
    for (ModelNode* dependent : node.dependents) touch(*dependent);
  }
  if (lends_other) {
    for (ModelNode* dependency : node.dependencies) touch(*dependency);
  }
}

void Model::enter_lanes(ModelNode& node) {
  node.is_placed = true;
  if (node.is_waiting()) waiting_.insert(&node);
  if (node.is_running() && node.is_rollback()) running_rollbacks_.insert(&node);
  if (node.is_queued || node.is_running()) {
    for (const std::string& file : node.known.files) {
      LaneKey key(node.known.branch, file);
      auto& lane = lanes_[key];
      if (!lane)
        lane = std::make_unique<ModelLane>(
            ModelLane{.key = std::move(key), .waiting = {}, .running = {}});
      node.lanes.push_back(lane.get());
      if (node.is_running()) {
        lane->running.insert(&node);
      } else {
        lane->waiting.insert(&node);
      }
      grant(*lane);
    }
  }
}

/// Removes NODE from all sets and lanes. This has to be done before the rank of NODE changes,
/// because the sets and lanes are sorted by rank.
void Model::leave_lanes(ModelNode& node) {
  node.is_placed = false;
  waiting_.erase(&node);
  ready_.erase(&node);
  doomed_.erase(&node);
  running_rollbacks_.erase(&node);
  for (ModelLane* lane : std::exchange(node.lanes, {})) {
    lane->waiting.erase(&node);
    lane->running.erase(&node);
    grant(*lane);
    if (lane->waiting.empty() && lane->running.empty()) lanes_.erase(LaneKey(lane->key));
  }
}

/// Determines the job in LANE that can run next.
void Model::grant(ModelLane& lane) {
  ModelNode* next = lane.running.empty() && !lane.waiting.empty() ? *lane.waiting.begin() : nullptr;
  ModelNode* before = std::exchange(lane.granted, next);
  if (before == next) return;
  if (before) {
    --before->granted;
    note(*before);
  }
  if (next) {
    ++next->granted;
    note(*next);
  }
}

/// Updates whether NODE is ready or doomed.
void Model::note(ModelNode& node) {
  const bool may_go =
      node.is_placed && node.is_active && node.open == 0 && node.granted == node.known.files.size();
  if (may_go) {
    ready_.insert(&node);
  } else {
    ready_.erase(&node);
  }
  if (node.is_placed && node.is_waiting() && !node.is_queued) {
    doomed_.insert(&node);
  } else {
    doomed_.erase(&node);
  }
}

}  // namespace quarry::changes
