#include "quarry/scoreboard/token_table.h"

#include <algorithm>

namespace quarry::scoreboard {
namespace {

constexpr unsigned kTimeBits = 32;
constexpr unsigned kTagShift = 40;
constexpr std::uint32_t kMaxCount = 255;
// Maximum time by which an entry can be in the future. Another process can read the clock later
// than this process, and still change the table earlier.
constexpr Tick kMaxSkew = 60 * kTicksPerSecond;

}  // namespace

bool TokenTable::is_of(std::uint64_t word, TableKey key) {
  return word != 0 && (word ^ key) >> kTagShift == 0;
}

std::uint64_t TokenTable::word_of(TableKey key, const Tally& tally) {
  const std::uint64_t count = std::min(tally.count, kMaxCount);
  return key >> kTagShift << kTagShift | count << kTimeBits | tally.time;
}

Tally TokenTable::tally_in(std::uint64_t word, Tick now) const {
  const auto time = static_cast<Tick>(word);
  if (time > now + max_ahead_ + kMaxSkew) return {};
  const bool is_expired = time <= now && now - time >= count_lifetime_;
  return {is_expired ? 0 : static_cast<std::uint32_t>(word >> kTimeBits) & kMaxCount, time};
}

std::atomic<std::uint64_t>& TokenTable::entry_of(TableKey key, Tick now) const {
  auto* const set = &memory_[key % kSets * kWays];
  auto* evicted = set;
  std::uint64_t least = UINT64_MAX;
  for (auto* entry = set; entry != set + kWays; ++entry) {
    const std::uint64_t word = entry->load(std::memory_order_relaxed);
    if (is_of(word, key)) return *entry;
    const Tally tally = tally_in(word, now);
    const std::uint64_t rank = std::uint64_t{tally.count} << kTimeBits | tally.time;
    if (rank >= least) continue;
    evicted = entry;
    least = rank;
  }
  return *evicted;
}

Tally TokenTable::find(TableKey key, Tick now) const {
  const std::uint64_t word = entry_of(key, now).load(std::memory_order_relaxed);
  return is_of(word, key) ? tally_in(word, now) : Tally{};
}

Tick TokenTable::wait(TableKey key, std::uint32_t tokens, Tick now) const {
  const Tick full = find(key, now).time;
  const Tick has_one = now + (tokens - 1) * interval_;
  return full > has_one ? full - has_one : 0;
}

void TokenTable::spend(TableKey key, Tick now) {
  update(key, now, [&](Tally tally) {
    const Tick full = std::max(tally.time, now) + interval_;
    return Tally{tally.count, std::min(full, now + max_ahead_)};
  });
}

void TokenTable::give_back(TableKey key, Tick now) {
  update(key, now, [&](Tally tally) {
    const Tick missing = tally.time > now ? tally.time - now : 0;
    return Tally{tally.count, tally.time - std::min(missing, interval_)};
  });
}

}  // namespace quarry::scoreboard
