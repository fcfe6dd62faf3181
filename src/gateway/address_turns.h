// Limits the number of requests that the pool handles at the same time for one address. Further
// requests of the address wait in the front until one of these is done. Otherwise, all requests of
// a crowd from one address would be in the pool's backlog before the next request of another address.
//
// Addresses are counted by their network (base/network.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "quarry/base/network.h"

namespace quarry::gateway {

class AddressTurns {
  struct Request {
    std::function<void()> start;  // null after the start
  };
  using Requests = std::list<Request>;
  using Lines = std::unordered_map<std::string, Requests>;

 public:
  /// The place of a request until the object is destroyed or leave() is called.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&& other) noexcept
        : lines_(std::exchange(other.lines_, nullptr)), line_(other.line_), place_(other.place_) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(lines_, other.lines_);
      std::swap(line_, other.line_);
      std::swap(place_, other.place_);
      return *this;
    }
    ~Turn() { leave(); }

    /// Starts the next request that waits, if this one was started.
    void leave() {
      Lines* const lines = std::exchange(lines_, nullptr);
      if (lines == nullptr) return;
      Requests& requests = line_->second;
      const bool was_started = !place_->start;
      requests.erase(place_);
      if (requests.empty()) return void(lines->erase(lines->find(line_->first)));
      const auto next = std::ranges::find_if(
          requests, [](const Request& each) { return static_cast<bool>(each.start); });
      if (was_started && next != requests.end()) std::exchange(next->start, nullptr)();
    }

   private:
    friend class AddressTurns;
    Turn(Lines& lines, Lines::value_type& line, Requests::iterator place)
        : lines_(&lines), line_(&line), place_(place) {}

    Lines* lines_ = nullptr;
    Lines::value_type* line_ = nullptr;  // stays valid when other lines are added or removed
    Requests::iterator place_;
  };

  /// Creates empty lines. LIMIT is the maximum number of started requests per address.
  explicit AddressTurns(std::size_t limit) : limit_(limit) {}
  AddressTurns(const AddressTurns&) = delete;
  AddressTurns& operator=(const AddressTurns&) = delete;

  /// Calls START now or, if IP has reached the limit, when it is the turn of this request. START
  /// must not call this object. The turn must not outlive this object.
  [[nodiscard]] Turn enter(std::string_view ip, std::function<void()> start) {
    Lines::value_type& line = *lines_.try_emplace(base::network_of(ip)).first;
    if (line.second.size() < limit_) std::exchange(start, nullptr)();
    line.second.push_back({std::move(start)});
    return Turn(lines_, line, std::prev(line.second.end()));
  }

 private:
  std::size_t limit_;
  Lines lines_;
};

}  // namespace quarry::gateway
