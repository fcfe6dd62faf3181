// Keeps the master's figures of a pool, and publishes them on the pool's board.
//
// The authoritative copy is in this object, in the master's private memory. Every child of the pool
// can overwrite the board, so the board is rewritten on each change and once a second. Only two
// values are read from the board: the number of active children, and the counters of a child that
// has ended. Implausible counters are discarded.
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
  /// Starts to publish. BOARD is the board of SERVICE and must outlive the last call. Counting
  /// continues from FORMER, the state of the same pool in the previous master.
  void begin(scoreboard::Board& board, const Service& service, std::uint64_t generation,
             const scoreboard::PoolState* former = nullptr);

  /// Returns the state that the board should have.
  const scoreboard::PoolState& state() const { return state_; }

  /// Records that a child has started. CHILDREN is the new number of children.
  void child_started(std::size_t children);
  /// Adds the counters of the child in SLOT and clears the slot. For a program, SLOT is nullopt.
  void child_ended(std::optional<std::size_t> slot, std::size_t children);
  /// Records a crash loop: the next child is started after WAIT. The status page shows REASON.
  void backed_off(std::string_view reason, std::chrono::milliseconds wait);
  void max_children_reached();
  /// Records that process.max currently prevents CHILDREN children from starting.
  void held_back(std::size_t children);
  void slow_request();
  // Record that a backoffice run of the pool has started, or that it has to wait.
  void job_started();
  void job_delayed();
  /// Records that a run has finished. FAILURE is the reason for a failure, or "" on success.
  void job_ended(std::chrono::milliseconds took, std::string_view failure);
  void previous_children(std::size_t count);
  /// Handles the exit of the child in SLOT, which belonged to an earlier generation. COUNT is the
  /// number of remaining children of earlier generations.
  void previous_child_ended(std::size_t slot, std::size_t count);

  /// Called once a second. Updates figures that change without an event, and clears unused slots
  /// that contain data.
  void refresh(const scoreboard::SlotAllocator& slots);

 private:
  void take_over_from(std::size_t slot);

  scoreboard::Board* board_ = nullptr;
  base::ListenQueue queue_;
  scoreboard::PoolState state_;
};

}  // namespace quarry::master
