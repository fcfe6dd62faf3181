// A consistent copy of a whole board with its sums, for the status pages and `quarry status`.
#pragma once

#include <array>
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
  std::uint64_t unreadable = 0;  // number of slots with values that a child never writes
  Counters totals;               // sums over all children, including those that have exited
  bool is_exact = false;         // false: a child that was just reaped counts twice or not at all
  std::optional<base::QueueLength> queue;
  std::vector<Refusal> refusals;  // the latest, newest first
  std::vector<RepositoryCount> busiest;
};

/// Returns the current state of BOARD, with the length of QUEUE.
PoolSnapshot take_snapshot(const Board& board, const base::ListenQueue& queue);

}  // namespace quarry::scoreboard
