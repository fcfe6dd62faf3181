// A hash table of fixed size in shared memory. It stores the spent tokens and a count for each key.
//
//   entry: tag of the key, 24 bits | count, 8 bits | time, 32 bits; all zero: unused
//
// A key spends one token at a time and regains one every INTERVAL. The entry's time is the time
// when it will have regained all of them. Callers that use update() may give the time another
// meaning.
//
// A key has one of the 16 entries of its set. In a full set, a new key evicts the entry with the
// lowest count or, if several have that count, the one among them with the earliest time, which has
// the most tokens left. So a flood of new keys evicts its own entries and not those of keys that
// have spent more tokens.
//
// Keys are hashes with a secret salt. Each entry is one atomic word and there is no lock, so a
// process may die at any point. If two processes insert a key at the same moment, one token may be
// lost. Random words in the memory cause wrong tallies until these have expired.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quarry::scoreboard {

/// Time in units of 1/8 s of the monotonic clock.
using Tick = std::uint32_t;
inline constexpr Tick kTicksPerSecond = 8;

using TableKey = std::uint64_t;

struct Tally {
  std::uint32_t count = 0;  // at most 255
  Tick time = 0;            // 0 if the key has no entry

  bool operator==(const Tally&) const = default;
};

class TokenTable {
 public:
  static constexpr std::size_t kSets = 4096;
  static constexpr std::size_t kWays = 16;
  /// Must be zero at first.
  using Memory = std::array<std::atomic<std::uint64_t>, kSets * kWays>;

  /// MEMORY must outlive the table. At most MAX_SPENT tokens of a key can be missing. An entry with
  /// a later time than that allows was not written by this class and is ignored. A count expires
  /// COUNT_LIFETIME after the entry's time.
  TokenTable(Memory& memory, Tick interval, std::uint32_t max_spent, Tick count_lifetime)
      : memory_(memory),
        interval_(interval),
        max_ahead_(interval * max_spent),
        count_lifetime_(count_lifetime) {}

  /// Returns the time until KEY, which has TOKENS when it has spent none, has a token to spend; 0
  /// if it has one now.
  Tick wait(TableKey key, std::uint32_t tokens, Tick now) const;
  void spend(TableKey key, Tick now);
  /// Gives a spent token back to KEY.
  void give_back(TableKey key, Tick now);

  Tally find(TableKey key, Tick now) const;
  /// Replaces KEY's tally with the result of CHANGE, which may be called several times. Does not
  /// write if the tally is unchanged.
  template <typename Change>
  void update(TableKey key, Tick now, Change change) {
    auto& entry = entry_of(key, now);
    std::uint64_t word = entry.load(std::memory_order_relaxed);
    while (true) {
      const Tally before = is_of(word, key) ? tally_in(word, now) : Tally{};
      const Tally after = change(before);
      if (after == before) return;
      if (entry.compare_exchange_weak(word, word_of(key, after), std::memory_order_relaxed)) return;
    }
  }

 private:
  static bool is_of(std::uint64_t word, TableKey key);
  static std::uint64_t word_of(TableKey key, const Tally& tally);
  Tally tally_in(std::uint64_t word, Tick now) const;
  /// Returns KEY's entry or, if it has none, the entry that it evicts.
  std::atomic<std::uint64_t>& entry_of(TableKey key, Tick now) const;

  Memory& memory_;
  Tick interval_;
  Tick max_ahead_;
  Tick count_lifetime_;
};

}  // namespace quarry::scoreboard
