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

struct alignas(64) LeaseMemory {
  std::array<std::atomic<std::uint64_t>, 256> words;
};

/// A hold that was taken; false: it was not to be had.
struct Lease {
  std::size_t index = 0;
  std::uint64_t word = 0;
  explicit operator bool() const { return word != 0; }
};

class Leases {
 public:
  static constexpr std::chrono::milliseconds kLongest{10000};

  /// MEMORY stays the board's; null: nothing is held, and nothing can be.
  explicit Leases(LeaseMemory* memory) : memory_(memory) {}

  /// For HOW_LONG, at most kLongest. Nobody else can have it meanwhile.
  Lease take(std::uint64_t number, std::chrono::milliseconds how_long);
  void release(const Lease& lease);
  bool is_held(std::uint64_t number) const;

 private:
  LeaseMemory* memory_;
};

}  // namespace quarry::scoreboard
