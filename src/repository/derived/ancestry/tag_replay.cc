#include "tag_replay.h"

#include <algorithm>

namespace quarry::repository {

void TagReplay::relink(Rid child, Rid parent) {
  if (const auto old = parents_.find(child); old != parents_.end()) {
    std::erase(children_[old->second], child);
    parents_.erase(old);
  }
  if (parent == 0) return;
  parents_[child] = parent;
  children_[parent].push_back(child);
}

void TagReplay::link(Rid child, Rid parent) {
  relink(child, parent);
  if (parent != 0 && entries_.contains(parent)) spread(parent);
}

void TagReplay::put(const TagEntry& entry) {
  const auto present = entries_.find(entry.origin);
  if (present != entries_.end() && present->second.day >= entry.day) {
    const bool is_inherited = present->second.source == 0;
    overruled_ |= is_inherited;
    tied_ |= !is_inherited && present->second.day == entry.day;
    return;
  }
  entries_[entry.origin] = entry;
  spread(entry.origin);
}

void TagReplay::spread(Rid from) {
  TagEntry wanted = entries_.at(from);
  wanted.source = 0;
  const bool propagates = wanted.type == kPropagatingTag;
  std::vector<Rid> todo{from};
  while (!todo.empty()) {
    const auto children = children_.find(todo.back());
    todo.pop_back();
    if (children == children_.end()) continue;
    for (const Rid child : children->second) {
      const auto present = entries_.find(child);
      const bool gives_way = present == entries_.end()
                                 ? propagates
                                 : present->second.source == 0 && present->second.day < wanted.day;
      if (!gives_way) continue;
      if (propagates) {
        entries_[child] = wanted;
      } else {
        entries_.erase(present);
      }
      todo.push_back(child);
    }
  }
}

}  // namespace quarry::repository
