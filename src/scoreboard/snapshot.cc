#include "quarry/scoreboard/snapshot.h"

#include <algorithm>

namespace quarry::scoreboard {
namespace {

// Maximum number of attempts to take an exact snapshot. Children rarely end, so it is unlikely that
// a child is reaped during each attempt.
constexpr int kMaxAttempts = 8;

void read_slots(const Board& board, std::uint64_t expected, PoolSnapshot& snapshot) {
  snapshot.processes.clear();
  // Reserve memory for the children only, because most boards have far more slots than children.
  snapshot.processes.reserve(std::min<std::uint64_t>(board.slot_count(), expected));
  snapshot.unreadable = 0;
  for (std::size_t i = 0; i < board.slot_count(); ++i) {
    const Board::Reading reading = board.read(i);
    if (reading.is_garbage) ++snapshot.unreadable;
    if (reading.state.pid != 0) snapshot.processes.push_back(reading.state);
  }
}

void add_up(PoolSnapshot& snapshot) {
  snapshot.totals = snapshot.state.past;
  for (const SlotState& process : snapshot.processes) {
    ++snapshot.in_stage[static_cast<std::size_t>(process.stage)];
    ++(process.stage == Stage::kAccepting ? snapshot.idle : snapshot.active);
    snapshot.totals.add(process.counters);
  }
}

}  // namespace

PoolSnapshot take_snapshot(const Board& board, const base::ListenQueue& queue) {
  PoolSnapshot snapshot;
  snapshot.pool = board.pool();
  for (int attempts = 0; attempts < kMaxAttempts && !snapshot.is_exact; ++attempts) {
    const auto before = board.read_pool();
    read_slots(board, before.state.children + before.state.previous_children, snapshot);
    snapshot.state = before.state;
    // The snapshot is exact if the master has not changed the state of the pool meanwhile. A child
    // that was reaped during this call might count twice or not at all.
    snapshot.is_exact =
        !before.is_old && before.sequence % 2 == 0 && board.read_pool().sequence == before.sequence;
  }
  add_up(snapshot);
  snapshot.queue = queue.length();
  snapshot.refusals = board.refusals();
  snapshot.busiest = board.busiest();
  snapshot.wall_now = wall_micros();
  snapshot.monotonic_now = monotonic_micros();
  snapshot.state.max_active = std::max(snapshot.state.max_active, snapshot.active);
  if (snapshot.queue) {
    snapshot.state.max_listen_queue =
        std::max(snapshot.state.max_listen_queue, snapshot.queue->waiting);
  }
  return snapshot;
}

}  // namespace quarry::scoreboard
