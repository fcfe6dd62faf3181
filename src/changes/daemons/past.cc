#include "past.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
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
  if (node->has_landed) {
    // If the hashes of two lanes collide, the only effect is that some jobs are kept longer.
    const std::size_t branch = std::hash<std::string>()(known.branch);
    for (const std::string& file : known.files) {
      landings_.push_back({std::hash<std::string>()(file) + 31 * branch, node.get()});
    }
  }
  nodes_[known.name.id] = std::move(node);
}

auto Past::landing_order(const Node& node) {
  return std::tie(node.landed_at, node.location.name.id);
}

/// Makes NODE a follower of OTHER: a rollback of OTHER also rolls back NODE.
void Past::follow(Node& node, Node& other) {
  other.followers.push_back(&node);
  ++node.ahead;
}

void Past::tie(Node& node) {
  for (const ChangeSetId& id : std::exchange(node.names, {})) {
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) continue;
    Node& other = *found->second;
    node.dependencies.push_back(&other);
    // If the clock was set back, a job can seem to have landed before its dependency. Such a pair
    // is not linked, because a circle of followers would never be deleted.
    const bool is_before = landing_order(other) < landing_order(node);
    if (is_before && node.has_landed && other.has_landed) follow(node, other);
  }
}

/// Makes each landing a follower of the landing before it in the same lane, and thereby of all
/// earlier ones.
void Past::tie_landings() {
  std::vector<Landing> landings = std::exchange(landings_, {});
  std::ranges::sort(landings, {}, [](const Landing& each) {
    return std::tuple(each.lane, landing_order(*each.node));
  });
  for (std::size_t i = 1; i < landings.size(); ++i) {
    if (landings[i].lane == landings[i - 1].lane) follow(*landings[i].node, *landings[i - 1].node);
  }
}

void Past::complete() {
  for (auto& [id, node] : nodes_) tie(*node);
  tie_landings();
  std::vector<Node*> recent;
  for (auto& [id, node] : nodes_) {
    if (!node->is_old) recent.push_back(node.get());
    if (node->ahead == 0) free_.push_back(node.get());
  }
  for (Node* node : recent) node->is_kept = true;
  keep(std::move(recent));
}

/// Keeps all followers of the jobs in LEFT. The jobs in LEFT must already be kept.
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
