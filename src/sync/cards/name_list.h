// A set of the artifact names in a request, as views into its body. Each name has flags.
//
// Most lists have only a few names, but some have a million. Therefore, names are first appended,
// and then sorted once before the first lookup. Very short lists are not sorted, because a linear
// search is faster.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace quarry::sync {

class NameList {
 public:
  struct Entry {
    std::string_view name;
    std::uint8_t flags;
  };

  void add(std::string_view name, std::uint8_t flags = 0) { entries_.push_back({name, flags}); }
  /// Call after the last add() and before the first find(). Merges equal names into one entry with
  /// the flags that all these names have in common.
  void seal();
  /// Returns the entry for NAME, or null if there is none.
  Entry* find(std::string_view name);
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::vector<Entry>::iterator begin() { return entries_.begin(); }
  std::vector<Entry>::iterator end() { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace quarry::sync
