#include "descent.h"

#include <algorithm>

namespace quarry::repository {

Descent::Descent(const std::vector<ParentLink>& links) {
  std::unordered_map<Rid, std::vector<Rid>> children;
  std::unordered_map<Rid, Rid> parents;
  for (const ParentLink& link : links) {
    if (link.parent == 0) continue;
    children[link.parent].push_back(link.child);
    parents[link.child] = link.parent;
  }
  std::size_t count = 0;
  struct Descendants {
    Rid rid;
    std::size_t next = 0;
  };
  std::vector<Descendants> branches;
  const auto enter = [&](Rid rid) {
    if (spans_.try_emplace(rid, Span{count, count + 1}).second) {
      ++count;
      branches.push_back({rid});
    }
  };
  for (const auto& [root, below] : children) {
    if (parents.contains(root)) continue;
    enter(root);
    while (!branches.empty()) {
      Descendants& branch = branches.back();
      const auto found = children.find(branch.rid);
      if (found != children.end() && branch.next < found->second.size()) {
        enter(found->second[branch.next++]);
        continue;
      }
      spans_[branch.rid].end = count;
      branches.pop_back();
    }
  }
}

bool Descent::has_later_above(std::vector<Card> cards) const {
  std::erase_if(cards, [&](const Card& card) { return !spans_.contains(card.rid); });
  std::ranges::sort(cards, {}, [&](const Card& card) { return spans_.at(card.rid).begin; });
  // The ancestors of the one that is looked at: where each one's descendants end, and the latest
  // day so far.
  struct Above {
    std::size_t end;
    double latest;
  };
  std::vector<Above> above;
  for (const Card& card : cards) {
    const Span span = spans_.at(card.rid);
    while (!above.empty() && above.back().end <= span.begin) above.pop_back();
    double latest = card.day;
    if (!above.empty()) {
      if (!card.is_own && above.back().latest >= card.day) return true;
      latest = std::max(latest, above.back().latest);
    }
    above.push_back({span.end, latest});
  }
  return false;
}

}  // namespace quarry::repository
