#include "quarry/scoreboard/login_memory.h"

#include <algorithm>

namespace quarry::scoreboard {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr std::uint64_t kTimeMask = 0xffff'ffffU;
constexpr unsigned kTimeBits = 32;
constexpr unsigned kCountBits = 8;
constexpr std::uint32_t kMostFailures = (1U << kCountBits) - 1;

/// Neither is ever 0, which stands for an empty place.
std::uint64_t tag_of(LoginKey pair) {
  return (pair | (std::uint64_t{1} << kTimeBits)) & ~kTimeMask;
}
std::uint64_t short_tag_of(LoginKey pair) {
  constexpr unsigned kShift = kTimeBits + kCountBits;
  return ((pair | (std::uint64_t{1} << kShift)) >> kShift) << kShift;
}

Tick time_of(std::uint64_t word) {
  return static_cast<Tick>(word & kTimeMask);
}

bool is_within(Tick time, Tick now, Tick memory) {
  return time <= now && now - time <= memory;
}

}  // namespace

// The finalizer of SplitMix64.
LoginKey mixed(LoginKey a, LoginKey b) {
  std::uint64_t x = a + 0x9e3779b97f4a7c15U * (b | 1U) + b;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// --- LeakySketch ---------------------------------------------------------------------------------

template <std::size_t kWidth>
auto LeakySketch<kWidth>::cells_of(LoginKey key) const -> Cells {
  static_assert(kWidth <= 65536 && (kWidth & (kWidth - 1)) == 0);
  Cells cells{};
  for (std::size_t row = 0; row < cells.size(); ++row) {
    const std::size_t column = (key >> (16 * row)) % kWidth;
    cells[row] = &memory_.empty_at[row * kWidth + column];
  }
  return cells;
}

template <std::size_t kWidth>
Tick LeakySketch<kWidth>::emptiest(const Cells& cells, Tick now) const {
  Tick least = at(cells.front()->load(kRelaxed), now);
  for (const auto* cell : cells) least = std::min(least, at(cell->load(kRelaxed), now));
  return least;
}

template <std::size_t kWidth>
Tick LeakySketch<kWidth>::drains_in(LoginKey key, Tick now) const {
  const Tick least = emptiest(cells_of(key), now);
  return least > now ? least - now : 0;
}

template <std::size_t kWidth>
Tick LeakySketch<kWidth>::until_room(LoginKey key, Tick now, std::uint32_t allowed) const {
  const Tick room = (std::max(allowed, 1U) - 1) * interval_;
  const Tick left = drains_in(key, now);
  return left > room ? left - room : 0;
}

template <std::size_t kWidth>
void LeakySketch<kWidth>::add(LoginKey key, Tick now) {
  const Cells cells = cells_of(key);
  const Tick filled = std::max(emptiest(cells, now), now) + interval_;
  // No further than it takes: what others have put into a shared bucket counts for this one too.
  const Tick next = std::min(filled, now + most_ * interval_);
  for (auto* cell : cells) {
    Tick known = cell->load(kRelaxed);
    while (at(known, now) < next && !cell->compare_exchange_weak(known, next, kRelaxed)) {
    }
  }
}

template <std::size_t kWidth>
void LeakySketch<kWidth>::take_back(LoginKey key, Tick now) {
  const Cells cells = cells_of(key);
  const Tick least = emptiest(cells, now);
  if (least <= now) return;
  const Tick next = least - std::min(least - now, interval_);
  for (auto* cell : cells) {
    Tick known = least;
    cell->compare_exchange_strong(known, next, kRelaxed);
  }
}

template class LeakySketch<65536>;
template class LeakySketch<4096>;

// --- RecentKeys ----------------------------------------------------------------------------------

namespace {

struct Bits {
  explicit Bits(LoginKey key) : first(key), step((key >> 32U) | 1U) {}
  static constexpr std::size_t kCount = 4;
  std::size_t operator[](std::size_t i) const {
    return (first + i * step) % RecentKeysMemory::kBits;
  }
  std::uint64_t first;
  std::uint64_t step;
};

}  // namespace

void RecentKeys::note(LoginKey key, Tick now) {
  const Tick period = now / kPeriod + 1;
  auto& filter = memory_.filters[period % memory_.filters.size()];
  Tick known = filter.period.load(kRelaxed);
  // What another notes while this one is still emptying may be lost: he is told once more.
  if (known != period && filter.period.compare_exchange_strong(known, period, kRelaxed)) {
    for (auto& word : filter.bits) word.store(0, kRelaxed);
  }
  const Bits bits(key);
  for (std::size_t i = 0; i < Bits::kCount; ++i) {
    filter.bits[bits[i] / 64].fetch_or(std::uint64_t{1} << (bits[i] % 64), kRelaxed);
  }
}

bool RecentKeys::is_in(LoginKey key, Tick period) const {
  const auto& filter = memory_.filters[period % memory_.filters.size()];
  if (period == 0 || filter.period.load(kRelaxed) != period) return false;
  const Bits bits(key);
  for (std::size_t i = 0; i < Bits::kCount; ++i) {
    if ((filter.bits[bits[i] / 64].load(kRelaxed) >> (bits[i] % 64) & 1U) == 0) return false;
  }
  return true;
}

bool RecentKeys::was_noted(LoginKey key, Tick now) const {
  const Tick period = now / kPeriod + 1;
  return is_in(key, period - 1) || (period > 1 && is_in(key, period - 2));
}

bool RecentKeys::is_noted(LoginKey key, Tick now) const {
  return is_in(key, now / kPeriod + 1) || was_noted(key, now);
}

// --- KnownPairs and FailedPairs ------------------------------------------------------------------

Failures failures_in(std::uint64_t word, LoginKey pair) {
  if (word == 0 || short_tag_of(word) != short_tag_of(pair)) return {};
  return {static_cast<std::uint32_t>(word >> kTimeBits) & kMostFailures, time_of(word)};
}

std::uint64_t word_of(const Failures& failures, LoginKey pair) {
  const std::uint64_t count = std::min(failures.count, kMostFailures);
  return short_tag_of(pair) | count << kTimeBits | failures.last;
}

void KnownPairs::succeed(LoginKey user, LoginKey pair, Tick now) {
  auto* const set = &memory_.places[user % KnownPairsMemory::kSets * KnownPairsMemory::kWays];
  auto* place = set;
  for (auto* each = set; each != set + KnownPairsMemory::kWays; ++each) {
    const std::uint64_t word = each->succeeded.load(kRelaxed);
    if ((word & ~kTimeMask) == tag_of(pair)) {
      place = each;
      break;
    }
    if (time_of(word) < time_of(place->succeeded.load(kRelaxed))) place = each;
  }
  // Each is written only where it changes: the same login may come many times a second.
  const std::uint64_t word = tag_of(pair) | now;
  const std::uint64_t known = place->succeeded.load(kRelaxed);
  if ((known & ~kTimeMask) != tag_of(pair) || now - time_of(known) > 60 * kTicksPerSecond) {
    place->succeeded.store(word, kRelaxed);
  }
  if (place->failed.load(kRelaxed) != 0) place->failed.store(0, kRelaxed);
}

std::atomic<std::uint64_t>* KnownPairs::failures_of(LoginKey user, LoginKey pair, Tick now,
                                                    Tick memory) {
  auto* const set = &memory_.places[user % KnownPairsMemory::kSets * KnownPairsMemory::kWays];
  for (auto* each = set; each != set + KnownPairsMemory::kWays; ++each) {
    const std::uint64_t word = each->succeeded.load(kRelaxed);
    if (word != 0 && (word & ~kTimeMask) == tag_of(pair)) {
      return is_within(time_of(word), now, memory) ? &each->failed : nullptr;
    }
  }
  return nullptr;
}

std::atomic<std::uint64_t>& FailedPairs::failures_of(LoginKey pair) {
  auto* const set = &memory_.words[pair % FailedPairsMemory::kSets * FailedPairsMemory::kWays];
  auto* least = set;
  for (auto* each = set; each != set + FailedPairsMemory::kWays; ++each) {
    const std::uint64_t word = each->load(kRelaxed);
    if (word != 0 && short_tag_of(word) == short_tag_of(pair)) return *each;
    if (time_of(word) < time_of(least->load(kRelaxed))) least = each;
  }
  return *least;
}

}  // namespace quarry::scoreboard
