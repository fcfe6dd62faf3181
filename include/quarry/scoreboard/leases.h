// Short leases that the children of a pool take on numbered resources, in the board that they
// share.
//
//   word = tag (24 bits, from the number) | deadline (40 bits, milliseconds of the monotonic clock)
//
// A hash of the number selects a word. A word of 0 means that no lease is held. A lease ends when
// its child releases it or, if the child has died, at its deadline. If two numbers share a word, or
// a child has corrupted the board, a lease may be refused or a reader may wait until the deadline,
// but not longer: deadlines further away than kLongest are ignored.
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

/// A lease, which converts to false if it was refused.
struct Lease {
  std::size_t index = 0;
  std::uint64_t word = 0;
  explicit operator bool() const { return word != 0; }
};

class Leases {
 public:
  static constexpr std::chrono::milliseconds kLongest{10000};

  /// MEMORY belongs to the board. With null, no lease is held and every request for one is refused.
  explicit Leases(LeaseMemory* memory) : memory_(memory) {}

  /// Takes the lease on NUMBER for HOW_LONG, at most kLongest.
  Lease take(std::uint64_t number, std::chrono::milliseconds how_long);
  void release(const Lease& lease);
  bool is_held(std::uint64_t number) const;

 private:
  LeaseMemory* memory_;
};

}  // namespace quarry::scoreboard
