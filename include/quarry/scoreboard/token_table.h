// A hash table of fixed size in shared memory. For each key, it stores how many tokens the key has
// spent, and a count.
//
//   entry: tag of the key, 24 bits | count, 8 bits | time, 32 bits; all zero: unused
//
// A key spends one token at a time and regains one every INTERVAL. The entry's time is the time at
// which the key will have regained all tokens. A caller that writes the entries of a table only
// with update() can give their time another meaning.
//
// Each key belongs to a set of 16 entries, and uses at most one of them. In a full set, a new key
// evicts the entry with the lowest count. If several entries have the same count, the new key
// evicts the entry with the earliest time. The key of this entry has spent the fewest tokens. So a
// flood of new keys evicts its own entries, but not the entries of keys that have spent more
// tokens.
//
// Keys are hashes with a secret salt, so clients cannot choose keys of the same set. Each entry is
// one atomic word, and there are no locks, so a process that is killed at any point does not leave
// a locked or incomplete entry. If two processes insert a key at the same moment, one token can be
// lost. A corrupt entry causes wrong limits only until it expires.
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
  Tick time = 0;            // 0: the key does not have an entry

  bool operator==(const Tally&) const = default;
};

class TokenTable {
 public:
  static constexpr std::size_t kSets = 4096;
  static constexpr std::size_t kWays = 16;
  /// Initially, all entries must be zero.
  using Memory = std::array<std::atomic<std::uint64_t>, kSets * kWays>;

  /// Uses MEMORY, which must outlive the table. A key can have spent at most MAX_SPENT tokens, so
  /// the time of an entry has an upper limit. An entry with a later time is corrupt and is ignored.
  /// A count expires COUNT_LIFETIME after the entry's time.
  TokenTable(Memory& memory, Tick interval, std::uint32_t max_spent, Tick count_lifetime)
      : memory_(memory),
        interval_(interval),
        max_ahead_(interval * max_spent),
        count_lifetime_(count_lifetime) {}

  /// Returns the time until KEY has a token to spend; 0 if it has one now. TOKENS is the number of
  /// tokens of a key that has not spent any.
  Tick wait(TableKey key, std::uint32_t tokens, Tick now) const;
  void spend(TableKey key, Tick now);
  void give_back(TableKey key, Tick now);

  Tally find(TableKey key, Tick now) const;
  /// Replaces KEY's tally with the result of CHANGE. CHANGE can be called several times. If CHANGE
  /// returns the same tally, nothing is written.
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
  /// Returns KEY's entry. If KEY does not have an entry, returns the entry that KEY would replace.
  std::atomic<std::uint64_t>& entry_of(TableKey key, Tick now) const;

  Memory& memory_;
  Tick interval_;
  Tick max_ahead_;
  Tick count_lifetime_;
};

}  // namespace quarry::scoreboard
