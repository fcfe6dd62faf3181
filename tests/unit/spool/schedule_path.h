// The choices that make up a schedule, and the way to the next schedule.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "scheduled_threading.h"

namespace quarry::spool::schedule {

/// The choices of one schedule, and which alternatives were not tried yet.
class Path {
 public:
  /// Depth first, starting with these choices.
  explicit Path(const std::vector<int>& choices = {}) {
    std::ranges::transform(choices, std::back_inserter(decisions_), [](int choice) {
      return Decision{0, static_cast<std::uint8_t>(choice), 0};
    });
  }

  void begin() { depth_ = 0; }

  /// One of COUNT alternatives, or nothing if the number was different the last time. ALLOWED has a
  /// bit for each; the first is always allowed.
  std::optional<int> take(int count, std::uint64_t allowed) {
    if (depth_ == decisions_.size()) {
      const int chosen = std::countr_zero(allowed);
      decisions_.push_back({allowed & ~(std::uint64_t{1} << chosen),
                            static_cast<std::uint8_t>(chosen), static_cast<std::uint8_t>(count)});
    }
    Decision& decision = decisions_[depth_++];
    if (decision.count == 0) decision.count = static_cast<std::uint8_t>(count);
    if (decision.count != count || decision.chosen >= count) return std::nullopt;
    return decision.chosen;
  }

  /// Advances to the next schedule; false if there is none.
  bool next() {
    while (!decisions_.empty() && decisions_.back().untried == 0) decisions_.pop_back();
    if (decisions_.empty()) return false;
    Decision& last = decisions_.back();
    last.chosen = static_cast<std::uint8_t>(std::countr_zero(last.untried));
    last.untried &= last.untried - 1;
    return true;
  }

  bool ended_early() const { return depth_ < decisions_.size(); }

  std::vector<int> choices() const {
    std::vector<int> result;
    result.reserve(decisions_.size());
    for (const Decision& decision : decisions_) result.push_back(decision.chosen);
    while (!result.empty() && result.back() == 0) result.pop_back();
    return result;
  }

 private:
  struct Decision {
    std::uint64_t untried;
    std::uint8_t chosen;
    std::uint8_t count;  // 0: unknown
  };

  std::vector<Decision> decisions_;
  std::size_t depth_ = 0;
};

}  // namespace quarry::spool::schedule
