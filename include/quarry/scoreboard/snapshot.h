// One look at a whole board, with its figures added up: what a status page shows, and `quarry
// status`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::scoreboard {

struct PoolSnapshot {
  std::string pool;
  std::int64_t wall_now = 0;       // microseconds since 1970
  std::int64_t monotonic_now = 0;  // microseconds
  PoolState state;
  std::vector<SlotState> processes;
  std::array<std::uint64_t, kStages> in_stage{};
  std::uint64_t idle = 0;
  std::uint64_t active = 0;
  std::uint64_t unreadable = 0;  // slots that hold what no child wrote
  Counters totals;               // of the children, and of those that are gone
  bool is_exact = false;         // else one that was just buried may count twice, or not at all
  std::optional<base::QueueLength> queue;
  std::vector<Refusal> refusals;  // the last ones, the newest first
};

/// BOARD as it is now, with the length of QUEUE.
PoolSnapshot take_snapshot(const Board& board, const base::ListenQueue& queue);

}  // namespace quarry::scoreboard
