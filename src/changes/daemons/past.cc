#include "past.h"

#include <utility>

namespace quarry::changes {

void Past::add(const ModelJob& known, bool is_old) {
  auto node = std::make_unique<Node>();
  node->location = {.stage = known.stage, .name = known.name};
  node->has_landed = known.stage == Stage::kDone && !known.is_rolled_back;
  node->landed_at = known.landed_at;
  node->is_old = is_old;
  // Ignore the dependencies of a rollback. They are the change sets that the rollback rolls back,
  // and the rollback does not land on them.
  if (known.name.type != MoveType::kRollback) node->names = known.dependencies;
  node->precursors = known.precursors;
  nodes_[known.name.id] = std::move(node);
}

void Past::tie(Node& node) {
  const auto follow = [&](Node& other) {
    if (&other == &node || !node.has_landed || !other.has_landed) return;
    other.followers.push_back(&node);
    ++node.ahead;
  };
  for (const ChangeSetId& id : std::exchange(node.names, {})) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) continue;
    node.dependencies.push_back(found->second.get());
    follow(*found->second);
  }
  for (const ChangeSetId& id : std::exchange(node.precursors, {})) {
    const auto found = nodes_.find(id);
    // If a precursor landed later than this job, this job did not land on the precursor, but
    // overtook it.
    if (found != nodes_.end() && found->second->landed_at <= node.landed_at) follow(*found->second);
  }
}

void Past::complete() {
  for (auto& [id, node] : nodes_) tie(*node);
  std::vector<Node*> recent;
  for (auto& [id, node] : nodes_) {
    if (!node->is_old) recent.push_back(node.get());
    if (node->ahead == 0) free_.push_back(node.get());
  }
  for (Node* node : recent) node->is_kept = true;
  keep(std::move(recent));
}

/// Keeps all jobs that landed on the jobs in LEFT. The jobs in LEFT must already be kept.
void Past::keep(std::vector<Node*> left) {
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    for (Node* follower : node->followers) {
      if (!std::exchange(follower->is_kept, true)) left.push_back(follower);
    }
  }
}

void Past::need(const ChangeSetId& id) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  std::vector<Node*> left = {found->second.get()}, kept;
  while (!left.empty()) {
    Node* node = left.back();
    left.pop_back();
    if (std::exchange(node->is_needed, true)) continue;
    if (!std::exchange(node->is_kept, true)) kept.push_back(node);
    left.insert(left.end(), node->dependencies.begin(), node->dependencies.end());
  }
  keep(std::move(kept));
}

std::vector<JobLocation> Past::next(std::size_t limit) {
  std::vector<JobLocation> locations;
  while (!free_.empty() && locations.size() < limit) {
    const Node* node = free_.front();
    free_.pop_front();
    if (!node->is_kept) locations.push_back(node->location);
  }
  return locations;
}

void Past::gone(const ChangeSetId& id) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  for (Node* follower : std::exchange(found->second->followers, {})) {
    if (--follower->ahead == 0) free_.push_back(follower);
  }
}

}  // namespace quarry::changes
