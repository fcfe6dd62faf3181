// Short leases on numbered resources. The children of a pool share the leases in the pool's board.
//
//   word = tag (24 bits, from the number) | deadline (40 bits, milliseconds of the monotonic clock)
//
// A hash of the number selects a word. The value 0 means that the lease is free. A lease ends when
// its child releases it or, if the child has crashed, at its deadline. Two numbers can share a
// word, and a child can corrupt the board. In both cases, take() can refuse a free lease, and
// is_held() can return true for a free lease. This lasts at most kLongest, because a word with a
// later deadline counts as free.
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

/// A lease. Converts to false if the lease was refused.
struct Lease {
  std::size_t index = 0;
  std::uint64_t word = 0;
  explicit operator bool() const { return word != 0; }
};

class Leases {
 public:
  static constexpr std::chrono::milliseconds kLongest{10000};

  /// Uses MEMORY, which belongs to the board. If MEMORY is null, take() never succeeds, and
  /// is_held() always returns false.
  explicit Leases(LeaseMemory* memory) : memory_(memory) {}

  /// Takes the lease on NUMBER for HOW_LONG, at most kLongest.
  Lease take(std::uint64_t number, std::chrono::milliseconds how_long);
  void release(const Lease& lease);
  bool is_held(std::uint64_t number) const;

 private:
  LeaseMemory* memory_;
};

}  // namespace quarry::scoreboard
