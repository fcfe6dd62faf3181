#include "quarry/scoreboard/leases.h"

#include <algorithm>

#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {
namespace {

constexpr int kDeadlineBits = 40;  // 34 years
constexpr std::uint64_t kDeadlineMask = (std::uint64_t{1} << kDeadlineBits) - 1;

std::uint64_t now_millis() {
  return static_cast<std::uint64_t>(monotonic_micros() / 1000);
}

/// Returns a hash of NUMBER (the finalizer of MurmurHash3).
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 33U)) * 0xff51afd7ed558ccdU;
  number = (number ^ (number >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return number ^ (number >> 33U);
}

std::size_t index_of(std::uint64_t number) {
  return mixed(number) % std::tuple_size_v<decltype(LeaseMemory::words)>;
}

/// Returns the tag of NUMBER, which is never 0. Therefore the word of a taken lease is never 0. The
/// word 0 stands for a free lease.
std::uint64_t mark_of(std::uint64_t number) {
  return (mixed(number) | (std::uint64_t{1} << kDeadlineBits)) & ~kDeadlineMask;
}

bool is_live(std::uint64_t word, std::uint64_t now) {
  const std::uint64_t deadline = word & kDeadlineMask;
  return deadline > now && deadline - now <= static_cast<std::uint64_t>(Leases::kLongest.count());
}

}  // namespace

Lease Leases::take(std::uint64_t number, std::chrono::milliseconds how_long) {
  if (memory_ == nullptr || how_long.count() <= 0) return {};
  const std::uint64_t now = now_millis();
  const auto length = static_cast<std::uint64_t>(std::min(how_long, kLongest).count());
  Lease lease{index_of(number), mark_of(number) | ((now + length) & kDeadlineMask)};
  auto& word = memory_->words[lease.index];
  std::uint64_t known = word.load(std::memory_order_relaxed);
  if (is_live(known, now)) return {};
  if (!word.compare_exchange_strong(known, lease.word, std::memory_order_relaxed)) return {};
  return lease;
}

void Leases::release(const Lease& lease) {
  if (memory_ == nullptr || !lease) return;
  std::uint64_t known = lease.word;
  // Clear the word only if it has not changed: after the deadline, another process might have taken
  // the lease.
  memory_->words[lease.index].compare_exchange_strong(known, 0, std::memory_order_relaxed);
}

bool Leases::is_held(std::uint64_t number) const {
  if (memory_ == nullptr) return false;
  const std::uint64_t word = memory_->words[index_of(number)].load(std::memory_order_relaxed);
  return word != 0 && (word & ~kDeadlineMask) == mark_of(number) && is_live(word, now_millis());
}

}  // namespace quarry::scoreboard
