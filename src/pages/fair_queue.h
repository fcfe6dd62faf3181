// A queue in which client addresses take turns (round-robin), so that an address with many items
// delays the other addresses by only one item per turn:
//
//   192.0.2.1     a1 a2 a3 a4
//   192.0.2.2     b1 b2              taken: a1 b1 c1 a2 b2 a3 a4
//   2001:db8::    c1
//
// Addresses are counted by their network (quarry/base/network.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

namespace quarry::pages {

/// Item: has a member `network`.
template <typename Item>
class FairQueue {
 public:
  std::size_t size() const { return size_; }

  void push(Item item) {
    auto line = std::ranges::find(lines_, item.network, &Line::network);
    if (line == lines_.end()) line = lines_.insert(line, Line{item.network, {}});
    line->items.push_back(std::move(item));
    ++size_;
  }

  /// Finds the next network for which ELIGIBLE returns true. Removes and returns the first item of
  /// this network. Returns nullopt if there is no such network.
  template <typename Predicate>
  std::optional<Item> take(Predicate eligible) {
    const auto line = std::ranges::find_if(lines_, eligible, &Line::network);
    if (line == lines_.end()) return std::nullopt;
    Item item = std::move(line->items.front());
    line->items.pop_front();
    --size_;
    if (line->items.empty()) {
      lines_.erase(line);
    } else {
      lines_.splice(lines_.end(), lines_, line);
    }
    return item;
  }

  /// Removes and returns the last item of the network with the most items. If several networks have
  /// the most items, uses the network whose turn is last. The queue must not be empty.
  Item take_last_of_longest() {
    const auto longest = std::ranges::max_element(lines_ | std::views::reverse, {}, &Line::size);
    Item item = std::move(longest->items.back());
    longest->items.pop_back();
    --size_;
    if (longest->items.empty()) lines_.erase(std::prev(longest.base()));
    return item;
  }

  template <typename Predicate>
  void remove_if(Predicate unwanted) {
    for (auto line = lines_.begin(); line != lines_.end();) {
      size_ -= line->items.remove_if(unwanted);
      line = line->items.empty() ? lines_.erase(line) : std::next(line);
    }
  }

 private:
  struct Line {
    std::string network;
    std::list<Item> items;  // not empty

    std::size_t size() const { return items.size(); }
  };

  std::list<Line> lines_;  // in the order of their turns
  std::size_t size_ = 0;
};

}  // namespace quarry::pages
