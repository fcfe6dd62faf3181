// The master's figures of a pool, which it publishes on the pool's board.
//
// The authoritative copy is here, in the master's private memory. Every child of the pool can
// overwrite the board, so the board is rewritten on each change and once a second. Only two things
// are read from the board: the number of active children, and the counters of a child that has
// ended, which are discarded if they are implausible.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "quarry/base/listen_queue.h"
#include "quarry/master/service.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {

class PoolWatch {
 public:
  /// BOARD is that of SERVICE and must outlive the last call. Counting continues from FORMER, the
  /// state of the same pool in the previous master.
  void begin(scoreboard::Board& board, const Service& service, std::uint64_t generation,
             const scoreboard::PoolState* former = nullptr);

  /// The state that the board should have.
  const scoreboard::PoolState& state() const { return state_; }

  /// CHILDREN: the current number.
  void child_started(std::size_t children);
  /// Adds the counters of the child in SLOT and clears the slot; nullopt: it was a program.
  void child_ended(std::optional<std::size_t> slot, std::size_t children);
  /// Records a crash loop: the next child is started after WAIT. REASON is shown to operators.
  void backed_off(std::string_view reason, std::chrono::milliseconds wait);
  /// pm.max_children has prevented a start.
  void max_children_reached();
  /// process.max is holding back CHILDREN; 0: no longer any.
  void held_back(std::size_t children);
  void slow_request();
  // The pool's backoffice runs:
  void job_started();
  void job_delayed();
  /// FAILURE: how the run failed; "" on success.
  void job_ended(std::chrono::milliseconds took, std::string_view failure);
  /// Sets the number of children of earlier generations.
  void previous_children(std::size_t count);
  /// The same, after the child in SLOT has ended.
  void previous_child_ended(std::size_t slot, std::size_t count);

  /// Call it once a second: updates the figures that have no event of their own, and clears slots
  /// that are not in use but contain data.
  void refresh(const scoreboard::SlotAllocator& slots);

 private:
  void take_over_from(std::size_t slot);

  scoreboard::Board* board_ = nullptr;
  base::ListenQueue queue_;
  scoreboard::PoolState state_;
};

}  // namespace quarry::master
