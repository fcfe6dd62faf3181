// Short holds that the children of a pool put on something that all of them know by a number, in
// their shared board.
//
//   word = tag (24 bits, of the number) | deadline (40 bits, milliseconds of the monotonic clock)
//
// One word a number, found by it; 0: not held. A hold ends when its child takes it back or, should
// that be dead by then, at its deadline. Two numbers that share a word, or a board that a child has
// scribbled on, cost a hold that is not had, or a wait up to a deadline, never more: a deadline
// that is further away than kLongest is none.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace quarry::scoreboard {

struct alignas(64) HoldMemory {
  std::array<std::atomic<std::uint64_t>, 256> words;
};

/// A hold that was taken; false: it was not to be had.
struct Hold {
  std::size_t place = 0;
  std::uint64_t word = 0;
  explicit operator bool() const { return word != 0; }
};

class Holds {
 public:
  static constexpr std::chrono::milliseconds kLongest{10000};

  /// MEMORY stays the board's; null: nothing is held, and nothing can be.
  explicit Holds(HoldMemory* memory) : memory_(memory) {}

  /// For HOW_LONG, at most kLongest. Nobody else can have it meanwhile.
  Hold take(std::uint64_t number, std::chrono::milliseconds how_long);
  void release(const Hold& hold);
  bool is_held(std::uint64_t number) const;

 private:
  HoldMemory* memory_;
};

}  // namespace quarry::scoreboard
