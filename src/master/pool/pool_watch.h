// What the master knows of a pool's figures, and tells on the pool's board.
//
// The truth is here, in the master's private memory. The board's copy can be overwritten by every
// child of the pool, so it is written anew at each change and once a second. Nothing is read from
// the board but how many are active, and the figures of a child that is gone, which are kept as
// they were only where they are plausible.
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
  /// BOARD is that of SERVICE and must outlive the last call. What FORMER has counted is gone on
  /// from: the state of the same pool in a master before this one.
  void begin(scoreboard::Board& board, const Service& service, std::uint64_t generation,
             const scoreboard::PoolState* former = nullptr);

  /// What is told on the board, as it should be there.
  const scoreboard::PoolState& state() const { return state_; }

  /// Each with how many CHILDREN there are now.
  void child_started(std::size_t children);
  /// Takes over what the child in SLOT counted, and empties the slot; nothing: it was a program.
  void child_ended(std::optional<std::size_t> slot, std::size_t children);
  /// A crash loop: the next child is started after WAIT. REASON tells a person why.
  void backed_off(std::string_view reason, std::chrono::milliseconds wait);
  /// pm.max_children kept a child from being started.
  void max_children_reached();
  /// process.max keeps so many CHILDREN from being started; 0: no more.
  void held_back(std::size_t children);
  void slow_request();
  /// Of the pool's backoffice.
  void job_started();
  void job_delayed();
  /// A run has taken so long; FAILURE: how it ended, "": as it should.
  void job_ended(std::chrono::milliseconds took, std::string_view failure);
  /// How many children of earlier generations the pool has.
  void previous_children(std::size_t count);
  /// The same, since the one in SLOT has ended.
  void previous_child_ended(std::size_t slot, std::size_t count);

  /// Once a second: looks at what has no event of its own, and empties those of SLOTS that no child
  /// has, and yet say something.
  void refresh(const scoreboard::SlotAllocator& slots);

 private:
  void take_over_from(std::size_t slot);

  scoreboard::Board* board_ = nullptr;
  base::ListenQueue queue_;
  scoreboard::PoolState state_;
};

}  // namespace quarry::master
