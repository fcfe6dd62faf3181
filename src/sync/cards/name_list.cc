#include "name_list.h"

#include <algorithm>

namespace quarry::sync {
namespace {

constexpr std::size_t kFew = 8;

}  // namespace

void NameList::seal() {
  if (entries_.size() < 2) return;
  std::ranges::sort(entries_, {}, &Entry::name);
  std::size_t last = 0;
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].name == entries_[last].name) {
      entries_[last].flags |= entries_[i].flags;
    } else {
      entries_[++last] = entries_[i];
    }
  }
  entries_.resize(last + 1);
}

NameList::Entry* NameList::find(std::string_view name) {
  if (entries_.size() <= kFew) {
    for (Entry& entry : entries_) {
      if (entry.name == name) return &entry;
    }
    return nullptr;
  }
  const auto at = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace quarry::sync
