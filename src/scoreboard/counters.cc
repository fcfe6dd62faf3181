#include "quarry/scoreboard/counters.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace quarry::scoreboard {
namespace {

constexpr std::size_t kWords = sizeof(Counters) / sizeof(std::uint64_t);
using Words = std::array<std::uint64_t, kWords>;

// Maximum plausible count, which is 285 years in microseconds, or nine petabytes. Sums over
// thousands of children do not overflow.
constexpr std::uint64_t kMaxPlausibleCount = std::uint64_t{1} << 53;

std::uint64_t sum_of(std::span<const std::uint64_t> buckets) {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

bool agrees(std::span<const std::uint64_t> buckets, std::uint64_t requests) {
  const std::uint64_t sum = sum_of(buckets);
  return sum <= requests + 1 && requests <= sum + 1;
}

}  // namespace

std::size_t bucket_of(std::span<const std::uint64_t> bounds, std::uint64_t value) {
  return static_cast<std::size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin());
}

void Counters::add(const Counters& other) {
  auto sums = std::bit_cast<Words>(*this);
  const auto more = std::bit_cast<Words>(other);
  for (std::size_t i = 0; i < kWords; ++i) {
    sums[i] = std::min(sums[i] + std::min(more[i], kMaxPlausibleCount), kMaxPlausibleCount);
  }
  *this = std::bit_cast<Counters>(sums);
}

bool Counters::is_plausible_sum() const {
  return std::ranges::all_of(std::bit_cast<Words>(*this),
                             [](std::uint64_t word) { return word <= kMaxPlausibleCount; });
}

bool Counters::is_plausible() const {
  return is_plausible_sum() && requests <= accepted + 1 && agrees(durations, requests) &&
         agrees(reply_sizes, requests) && refusals <= requests + 1 &&
         status_requests <= requests + 1 && failed_logins <= requests + 1 &&
         sync_sessions() <= requests + 1 && sum_of(sync_durations) <= sync_sessions() + 1;
}

}  // namespace quarry::scoreboard
