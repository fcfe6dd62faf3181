// What the workers of a pool remember of logins together, on their board: in fixed memory, where
// nothing that comes in, however much, pushes out what is known of others.
//
//   LeakySketch   how much of something there was lately, by key: leaky buckets in rows, one of
//                 each row a key's by its hash. A bucket that several keys share holds more than
//                 each of them put in, so that what counts is the emptiest of a key's. None is ever
//                 given to another key.
//   RecentKeys    which keys were seen in the last minutes: a Bloom filter for each minute
//   KnownPairs    which pairs have succeeded, and since then failed: a few places for each user's,
//                 which only his own successes push out (or those of users who share his set)
//   FailedPairs   how often other pairs have failed. These can be pushed out: they spare others
//                 what one does, and the sketches hold who has no regard for that.
//
// Keys are hashes under the board's secret salt. Every word is an atomic by itself, and zero is
// empty: there is no lock, and a worker that dies, or a board that was scribbled on, costs a tally
// that is wrong for some minutes. Times are in ticks of 1/8 s of the monotonic clock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quarry::scoreboard {

using Tick = std::uint32_t;
inline constexpr Tick kTicksPerSecond = 8;

using LoginKey = std::uint64_t;

/// A hash of A and B, as good as each of them.
LoginKey mixed(LoginKey a, LoginKey b);

/// WIDTH buckets (a power of two, at most 65536) in each row.
template <std::size_t kWidth>
struct SketchMemory {
  static constexpr std::size_t kRows = 4;
  /// When each bucket will be empty.
  std::array<std::atomic<Tick>, kRows * kWidth> empty_at;
};

template <std::size_t kWidth>
class LeakySketch {
 public:
  /// A bucket loses one in INTERVAL, and holds at most MOST.
  LeakySketch(SketchMemory<kWidth>& memory, Tick interval, std::uint32_t most)
      : memory_(memory), interval_(interval), most_(most) {}

  /// How long until KEY's bucket is empty; 0: it is.
  Tick drains_in(LoginKey key, Tick now) const;
  /// How long until so much of it is gone that ALLOWED are there with one more; 0: it would be so
  /// now.
  Tick until_room(LoginKey key, Tick now, std::uint32_t allowed) const;
  void add(LoginKey key, Tick now);
  /// One of those that were added, where it did not count after all.
  void take_back(LoginKey key, Tick now);

 private:
  using Cells = std::array<std::atomic<Tick>*, SketchMemory<kWidth>::kRows>;
  Cells cells_of(LoginKey key) const;
  /// When what is in a cell will be gone. More than a bucket holds was not put there by this class,
  /// and is nothing.
  Tick at(Tick cell, Tick now) const { return cell > now + most_ * interval_ ? 0 : cell; }
  Tick emptiest(const Cells& cells, Tick now) const;

  SketchMemory<kWidth>& memory_;
  Tick interval_;
  std::uint32_t most_;
};

struct RecentKeysMemory {
  static constexpr std::size_t kBits = std::size_t{1} << 20;
  struct Filter {
    std::atomic<Tick> period;  // that it is of, counted from 1; 0: none
    std::array<std::atomic<std::uint64_t>, kBits / 64> bits;
  };
  std::array<Filter, 4> filters;
};

class RecentKeys {
 public:
  static constexpr Tick kPeriod = 64 * kTicksPerSecond;

  explicit RecentKeys(RecentKeysMemory& memory) : memory_(memory) {}

  void note(LoginKey key, Tick now);
  /// Whether KEY was noted in one of the two periods before this one.
  bool was_noted(LoginKey key, Tick now) const;
  /// The same, or in this one.
  bool is_noted(LoginKey key, Tick now) const;
  /// How long until what is noted now was_noted().
  static Tick until_period_ends(Tick now) { return kPeriod - now % kPeriod; }

 private:
  bool is_in(LoginKey key, Tick period) const;

  RecentKeysMemory& memory_;
};

/// How often somebody failed, and when last.
struct Failures {
  std::uint32_t count = 0;  // at most 255
  Tick last = 0;
};

struct KnownPairsMemory {
  static constexpr std::size_t kSets = 1024;
  static constexpr std::size_t kWays = 16;
  struct Place {
    std::atomic<std::uint64_t> succeeded;  // tag, 32 bits, and time; 0: empty
    std::atomic<std::uint64_t> failed;     // tag, 24 bits, count, 8 bits, and time
  };
  std::array<Place, kSets * kWays> places;
};

class KnownPairs {
 public:
  explicit KnownPairs(KnownPairsMemory& memory) : memory_(memory) {}

  /// PAIR of USER succeeds: it is known, and has not failed.
  void succeed(LoginKey user, LoginKey pair, Tick now);
  /// Where PAIR has succeeded within MEMORY of NOW, its failures word; otherwise null.
  std::atomic<std::uint64_t>* failures_of(LoginKey user, LoginKey pair, Tick now, Tick memory);

 private:
  KnownPairsMemory& memory_;
};

struct FailedPairsMemory {
  static constexpr std::size_t kSets = 4096;
  static constexpr std::size_t kWays = 8;
  std::array<std::atomic<std::uint64_t>, kSets * kWays> words;
};

class FailedPairs {
 public:
  explicit FailedPairs(FailedPairsMemory& memory) : memory_(memory) {}
  /// The word of PAIR, or the one to be its: the least of its set, by when it failed last.
  std::atomic<std::uint64_t>& failures_of(LoginKey pair);

 private:
  FailedPairsMemory& memory_;
};

/// The failures of PAIR that are in WORD, if they are of PAIR.
Failures failures_in(std::uint64_t word, LoginKey pair);
std::uint64_t word_of(const Failures& failures, LoginKey pair);

struct alignas(64) LoginMemory {
  std::array<std::atomic<std::uint64_t>, 2> salt;
  SketchMemory<65536> users;
  SketchMemory<65536> addresses;
  SketchMemory<4096> turns;
  RecentKeysMemory asked;
  KnownPairsMemory known;
  FailedPairsMemory failed;
};

}  // namespace quarry::scoreboard
